/**
 * The program: runs a command, handles signals, and sets the exit code (0 done, 1 failed, 2 bad
 * arguments).
 */

import cluster from 'node:cluster';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_SETTINGS } from './cli/all-settings.ts';
import { type Command, formatHelp } from './cli/command.ts';
import { loadAllCommands, loadCommand, loadCommandGroup } from './cli/commands.ts';
import { OutputError, Terminal } from './cli/terminal.ts';
import { readPackageVersion } from './config/package-version.ts';
import { readCommandSettings, splitArguments } from './config/read-settings.ts';
import { listSettingWarnings } from './config/setting-warnings.ts';
import { findUnknownVariables } from './config/unknown-variables.ts';
import { UsageError } from './config/usage-error.ts';

/**
 * Only this user may read ledgers, keys and backups. A umask is used because LMDB and sockets
 * accept no mode.
 */
process.umask(0o077);

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** Shells report 128 plus the signal's number. */
const EXIT_SIGNAL_BASE = 128;

async function formatOverview(): Promise<string> {
  const loaded = await loadAllCommands();
  const commands = loaded.map(({ name, summary }) => `  ${name.padEnd(13)}${summary}`);
  return (
    'perpinfo answers questions about perpetuals accounts, staking delegations and the\n' +
    `deployment auction, exactly, from a ledger of blocks.\n\n${commands.join('\n')}\n\n` +
    'perpinfo COMMAND --help describes a command; perpinfo --version prints the version.\n'
  );
}

function checkPositionals(command: Command, positionals: readonly string[]): void {
  const { positional } = command;
  const most = positional === undefined ? 0 : 1;
  if (positionals.length > most) {
    const extra = JSON.stringify(positionals[most].slice(0, 60));
    const allowed = most === 0 ? 'no argument' : 'only one argument';
    throw new UsageError([
      `unexpected argument ${extra}: ${command.name} takes ${allowed} besides flags`,
    ]);
  }
  if (positional?.required && positionals.length === 0) {
    throw new UsageError([`${positional.usage} is required: ${positional.help}`]);
  }
}

const stop = new AbortController();

/** Signals within this time count as one signal: a shell signals a process, and also its group. */
const SAME_SIGNAL_MS = 1000;

/** SIGHUP is sent when a terminal is closed, and by service managers that end a session. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Installs the handlers: the first of these signals stops the command, and a later signal ends the
 * process at once.
 */
function handleSignals({ isService = false }: Command): void {
  let stoppedMs: number | undefined;
  for (const name of STOP_SIGNALS) {
    process.on(name, () => {
      const exitCode = EXIT_SIGNAL_BASE + constants.signals[name];
      if (stoppedMs === undefined) {
        stoppedMs = performance.now();
        if (!isService) process.exitCode = exitCode;
        stop.abort(new DOMException(`got ${name}`, 'AbortError'));
      } else if (performance.now() - stoppedMs > SAME_SIGNAL_MS) {
        process.exit(exitCode);
      }
    });
  }
}

/** Prints a help text or the version, or runs a command. */
async function run(argv: readonly string[], terminal: Terminal): Promise<void> {
  const [first, second] = argv;
  if (first === 'help') return run([...argv.slice(1), '--help'], terminal);
  if (first === undefined || isHelp(first)) return terminal.write(await formatOverview());
  if (first === '--version' || first === '-v' || first === 'version')
    return terminal.write(`${readPackageVersion()}\n`);
  const group = await loadCommandGroup(first);
  if (group.length > 0 && second === 'help')
    return run(['help', first, ...argv.slice(2)], terminal);
  if (group.length > 0 && (second === undefined || isHelp(second))) {
    return terminal.write(group.map(formatHelp).join('\n'));
  }
  await runCommand(await loadCommand(argv), argv, terminal);
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const rest = argv.slice(command.name.split(' ').length);
  if (rest.some(isHelp)) return terminal.write(formatHelp(command));
  const line = splitArguments(rest, command.settings);
  const settings = readCommandSettings(command.settings, line);
  const { positionals } = line;
  checkPositionals(command, positionals);
  if (!isPartOfService(command)) {
    warn(findUnknownVariables(ALL_SETTINGS), terminal);
    warn(listSettingWarnings(command.settings, settings, line.flags), terminal);
  }
  handleSignals(command);
  await command.run({ settings, positionals, terminal, signal: stop.signal });
}

/**
 * True for a worker, and for the archiver of a service: the service prints the warnings of all its
 * processes.
 */
function isPartOfService({ name }: Command): boolean {
  return cluster.isWorker || (name === 'archive' && process.connected === true);
}

function warn(advice: readonly string[], terminal: Terminal): void {
  for (const sentence of advice) terminal.say(`warning: ${sentence}`);
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

/** Prints the error, and returns the exit code for it. */
function report(error: unknown, terminal: Terminal): number {
  if (error instanceof OutputError && error.isReaderGone) return 0;
  terminal.say((error as Error).message);
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
}

/** Maximum time to flush the output after a stop signal. */
const FLUSH_MS_MAX = 1000;

let flushDeadline: Promise<void> | undefined;

/** Resolves FLUSH_MS_MAX after the stop signal; never resolves without a stop signal. */
async function untilFlushDeadline(): Promise<void> {
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  await sleep(FLUSH_MS_MAX);
}

async function flush(terminal: Terminal): Promise<void> {
  flushDeadline ??= untilFlushDeadline();
  await Promise.race([terminal.flush(), flushDeadline]);
}

const terminal = new Terminal();
try {
  await run(process.argv.slice(2), terminal);
  await flush(terminal);
  terminal.throwIfUnprinted();
} catch (error) {
  // A stopped command has not failed: the signal handler has set the exit code.
  if (error !== stop.signal.reason) process.exitCode = report(error, terminal);
} finally {
  terminal.close();
  await flush(terminal);
  // An open connection or timer must not keep the process alive.
  process.exit();
}
