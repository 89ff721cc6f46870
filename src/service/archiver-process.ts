/** The process that writes the archive beside a service: started, restarted and stopped with it. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { SETTINGS, type SettingName, type Settings } from '../config/settings.ts';

const RESTART_MS_MIN = 1_000;
const RESTART_MS_MAX = 60_000;
/** A process that lived this long resets the restart delay. */
const HEALTHY_MS = 60_000;

/** The settings that it is given; it reads the others from the environment, as this process does. */
const ARCHIVER_SETTINGS = [
  ...(['data', 'ledger', 'natsReplicas', 'natsCreds', 'natsCa', 'archiveDays'] as const),
];

export interface ArchiverOptions {
  readonly settings: Settings<(typeof ARCHIVER_SETTINGS)[number]>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Resolves when the signal has come and the process has ended. Never rejects. */
export async function runArchiverProcess(options: ArchiverOptions): Promise<void> {
  const { log, signal } = options;
  for (let restartMs = RESTART_MS_MIN; !signal.aborted; ) {
    const startedMs = performance.now();
    const code = await runOnce(options);
    if (signal.aborted) return;
    log.error({ code }, 'the archiver has ended: it is started again');
    const isHealthy = performance.now() - startedMs >= HEALTHY_MS;
    restartMs = isHealthy ? RESTART_MS_MIN : Math.min(restartMs * 2, RESTART_MS_MAX);
    await sleep(restartMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The exit code, or the signal that ended it. */
async function runOnce({ settings, log, signal }: ArchiverOptions): Promise<number | string> {
  const child = fork(process.argv[1], ['archive', ...formatFlags(settings)], {
    // Standard input is the feed's. When the channel closes, the process ends: it never outlives us.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  logLines(child, log);
  const stop = () => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code, signalName] = await once(child, 'exit');
    return code ?? signalName;
  } catch (error) {
    return (error as Error).message;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function formatFlags(settings: ArchiverOptions['settings']): string[] {
  return ARCHIVER_SETTINGS.flatMap((name: SettingName & keyof typeof settings) => {
    const value = settings[name];
    return value === undefined || value === '' ? [] : [`--${SETTINGS[name].flag}`, String(value)];
  });
}

function logLines({ stderr }: ChildProcess, log: Logger): void {
  if (stderr === null) return;
  createInterface({ input: stderr }).on('line', (line) =>
    log.info({ part: 'archiver' }, line.replace(/^perpinfo: /, '')),
  );
}
