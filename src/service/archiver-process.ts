/**
 * Runs the process that writes the archive of a service. The service starts, restarts and stops
 * this process.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ARCHIVE_RETENTION_SETTINGS } from '../archive/settings.ts';
import { hasRunningArchiver } from '../archive/writing/archive-owner.ts';
import { formatNatsAddress, type NatsAddress } from '../config/nats-address.ts';
import { completeSetting, listSettings, type SettingValues } from '../config/setting.ts';
import { STORAGE_SETTINGS, type StorageSettings } from '../ledger/settings.ts';
import { RestartDelay } from '../timing/restart-delay.ts';
import { RepeatedLines } from './logging/repeated-lines.ts';

/**
 * An archiver on a full disk may run for some minutes until a write fails again. So only a process
 * that has run for ten minutes resets the delay.
 *
 * @internal Exported for the tests, which replace the delays with shorter delays.
 */
export const ARCHIVER_RESTARTS = { firstMs: 1_000, maxMs: 60_000, healthyMs: 600_000 };

/** The exit code of an archiver whose archive another process has taken over. */
export const TAKEN_OVER_EXIT_CODE = 3;
/** How often the service checks whether the process that has taken over the archive still runs. */
const STANDBY_MS = 2_000;

/**
 * How long a stopped archiver may take to write its pending changes. After this time, the archiver
 * is killed. A kill does not damage the archive.
 */
const STOP_MS_MAX = 5_000;

/**
 * The archiver process gets these settings as flags. The process reads the other settings from the
 * environment.
 */
const { ledger: LEDGER, ...STORAGE_FLAGS } = STORAGE_SETTINGS;
const ARCHIVER_FLAGS = {
  ...STORAGE_FLAGS,
  ...ARCHIVE_RETENTION_SETTINGS,
};
type ArchiverSettings = SettingValues<typeof ARCHIVER_FLAGS> & Pick<StorageSettings, 'ledger'>;

export interface ArchiverOptions {
  readonly settings: ArchiverSettings;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /**
   * Aborted when the service starts to stop, for example because the terminal sends a signal to all
   * its processes.
   */
  readonly stopping?: AbortSignal;
  /** Called with the process id of each archiver that is started. */
  started?(pid: number): void;
}

/** Resolves when the signal is aborted and the process has ended. Never rejects. */
export async function runArchiverProcess(options: ArchiverOptions): Promise<void> {
  const { log, signal, stopping } = options;
  const lines = new RepeatedLines(log);
  const restartDelay = new RestartDelay(ARCHIVER_RESTARTS);
  while (!signal.aborted) {
    const startedMs = performance.now();
    const { code, reason } = await runOnce(options, lines);
    if (signal.aborted || stopping?.aborted) return;
    if (code === TAKEN_OVER_EXIT_CODE) {
      log.info('another process writes the archive: the archiver waits until that one has ended');
      await untilArchiverEnds(options);
      continue;
    }
    lines.write('error', { reason }, 'the archiver has ended: it is started again');
    await pause(restartDelay.nextMs(performance.now() - startedMs), signal);
  }
}

/**
 * Waits before the next start: an archiver that starts at once would take the archive over again.
 */
async function untilArchiverEnds({ settings, signal }: ArchiverOptions): Promise<void> {
  do await pause(STANDBY_MS, signal);
  while (
    // If the archive cannot be opened, the wait ends, and the next archiver reports the failure.
    !signal.aborted &&
    (await hasRunningArchiver(settings.data).catch(() => false))
  );
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

interface End {
  /** The exit code; undefined if the process could not be started, or was killed. */
  readonly code?: number | undefined;
  /** The exit code or the signal, and the last line that the process wrote. */
  readonly reason: string;
}

async function runOnce(options: ArchiverOptions, lines: RepeatedLines): Promise<End> {
  try {
    const child = start(options.settings);
    if (child.pid !== undefined) options.started?.(child.pid);
    return await runToEnd(child, options.signal, lines);
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function start(settings: ArchiverSettings): ChildProcess {
  return fork(process.argv[1], ['archive', ...formatFlags(settings)], {
    env: { ...process.env, ...ledgerVariables(settings.ledger) },
    // The feed reads standard input, so the archiver must not. The archiver ends when the channel
    // closes, so it never outlives this process.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/**
 * Passes the ledger's address in the environment, because the address may contain a password, and
 * all users of the machine can read the flags of a process.
 */
function ledgerVariables(ledger: NatsAddress | undefined): NodeJS.ProcessEnv {
  const { variable, file } = completeSetting('ledger', LEDGER);
  if (ledger === undefined) return {};
  const ofFile = file === undefined ? {} : { [file.variable]: undefined };
  return { ...ofFile, [variable]: formatNatsAddress(ledger) };
}

async function runToEnd(
  child: ChildProcess,
  signal: AbortSignal,
  lines: RepeatedLines,
): Promise<End> {
  let lastLine = '';
  readLines(child, (line) => {
    lastLine = line;
    lines.write('info', { part: 'archiver' }, line);
  });
  let deadline: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill('SIGTERM');
    deadline = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code, signalName] = await once(child, 'exit');
    return { code, reason: `${code ?? signalName}: ${lastLine}` };
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', stop);
  }
}

function formatFlags(settings: ArchiverSettings): string[] {
  const values: Readonly<Record<string, unknown>> = settings;
  return listSettings(ARCHIVER_FLAGS).flatMap(({ name, flag, needs }) => {
    const isUseless = needs?.includes('nats') && settings.ledger === undefined;
    const value = isUseless ? undefined : values[name];
    return value === undefined || value === '' ? [] : [`--${flag}`, String(value)];
  });
}

function readLines({ stderr }: ChildProcess, each: (line: string) => void): void {
  if (stderr === null) return;
  createInterface({ input: stderr }).on('line', (line) => each(line.replace(/^perpinfo: /, '')));
}
