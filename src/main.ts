/** Arguments to command. Owns signals and exit codes: 0 done, 1 failed, 2 asked wrongly. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, formatHelp } from './cli/command.ts';
import { OutputError, Terminal } from './cli/terminal.ts';
import { readSettings, splitArguments } from './config/read-settings.ts';
import { UsageError } from './config/usage-error.ts';

/** By name, and loaded when called for: a program that starts has no time for what it will not use. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./cli/demo.ts')).demo,
  serve: async () => (await import('./cli/serve.ts')).serve,
  append: async () => (await import('./cli/append.ts')).append,
  query: async () => (await import('./cli/query.ts')).query,
  'keys create': async () => (await import('./cli/keys.ts')).keysCreate,
  'keys list': async () => (await import('./cli/keys.ts')).keysList,
  'keys revoke': async () => (await import('./cli/keys.ts')).keysRevoke,
  verify: async () => (await import('./cli/verify.ts')).verify,
  prune: async () => (await import('./cli/prune.ts')).prune,
  copy: async () => (await import('./cli/copy.ts')).copy,
  simulate: async () => (await import('./cli/simulate.ts')).simulate,
};
const COMMAND_NAMES = Object.keys(COMMANDS);

function loadCommands(names: readonly string[]): Promise<Command[]> {
  return Promise.all(names.map((name) => COMMANDS[name]()));
}

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** What a shell reports for a program that a signal ended. */
const EXIT_SIGNAL_BASE = 128;

async function formatOverview(): Promise<string> {
  const loaded = await loadCommands(COMMAND_NAMES);
  const commands = loaded.map(({ name, summary }) => `  ${name.padEnd(13)}${summary}`);
  return (
    'perpinfo answers questions about perpetuals accounts, staking delegations and the\n' +
    `deployment auction, exactly, from a ledger of blocks.\n\n${commands.join('\n')}\n\n` +
    'perpinfo COMMAND --help tells more of a command; perpinfo --version tells the version.\n'
  );
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The name that the arguments begin with. */
function findCommand(argv: readonly string[]): string {
  const found = COMMAND_NAMES.find((name) =>
    name.split(' ').every((word, index) => argv[index] === word),
  );
  if (found !== undefined) return found;
  const second = argv.slice(1, 2).filter((word) => !word.startsWith('-'));
  const given = JSON.stringify([argv[0], ...second].join(' ').slice(0, 60));
  throw new UsageError([`got command ${given}, expected one of ${COMMAND_NAMES.join(', ')}`]);
}

function checkPositionals(command: Command, positionals: readonly string[]): void {
  const { positional } = command;
  const most = positional === undefined ? 0 : 1;
  if (positionals.length > most) {
    const extra = JSON.stringify(positionals[most].slice(0, 60));
    throw new UsageError([`got the argument ${extra}, expected at most ${most} besides flags`]);
  }
  if (positional?.required && positionals.length === 0) {
    throw new UsageError([`${positional.usage} is required: ${positional.help}`]);
  }
}

const stop = new AbortController();

/** One request to stop may arrive twice: from whoever asks, and from the process group. */
const SAME_REQUEST_MS = 1000;

/** The first SIGINT or SIGTERM asks the command to stop; a later one ends the process at once. */
function listenToSignals({ isService = false }: Command): void {
  let askedMs: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const exitCode = EXIT_SIGNAL_BASE + constants.signals[name];
      if (askedMs === undefined) {
        askedMs = performance.now();
        if (!isService) process.exitCode = exitCode;
        stop.abort(new DOMException(`got ${name}`, 'AbortError'));
      } else if (performance.now() - askedMs > SAME_REQUEST_MS) {
        process.exit(exitCode);
      }
    });
  }
}

async function run(argv: readonly string[], terminal: Terminal): Promise<void> {
  const [first, second] = argv;
  if (first === 'help') return run([...argv.slice(1), '--help'], terminal);
  if (first === undefined || isHelp(first)) return terminal.write(await formatOverview());
  if (first === '--version' || first === '-v' || first === 'version')
    return terminal.write(`${readVersion()}\n`);
  const family = COMMAND_NAMES.filter((name) => name.startsWith(`${first} `));
  if (family.length > 0 && second === 'help')
    return run(['help', first, ...argv.slice(2)], terminal);
  if (family.length > 0 && (second === undefined || isHelp(second))) {
    return terminal.write((await loadCommands(family)).map(formatHelp).join('\n'));
  }
  const name = findCommand(argv);
  const command = await COMMANDS[name]();
  const rest = argv.slice(name.split(' ').length);
  if (rest.some(isHelp)) return terminal.write(formatHelp(command));
  const { flags, positionals } = splitArguments(rest);
  const settings = readSettings(command.settings, flags);
  checkPositionals(command, positionals);
  listenToSignals(command);
  await command.run({ settings, positionals, terminal, signal: stop.signal });
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

/** Shows what went wrong, and returns the exit code that says so. */
function report(error: unknown, terminal: Terminal): number {
  if (error instanceof OutputError && error.isReaderGone) return 0;
  terminal.say((error as Error).message);
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
}

/** How long whoever reads our output may take with the rest of it, once we are asked to stop. */
const FLUSH_MS_MAX = 1000;

/** Resolves when the command should have ended: some time after it was asked to. */
async function stopDeadline(): Promise<void> {
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  await sleep(FLUSH_MS_MAX);
}

const terminal = new Terminal();
try {
  await run(process.argv.slice(2), terminal);
} catch (error) {
  // Giving up because it was told to is no failure: the signal has set the exit code.
  if (error !== stop.signal.reason) process.exitCode = report(error, terminal);
} finally {
  terminal.close();
  await Promise.race([terminal.flush(), stopDeadline()]);
  // A server that does not answer, or a timer, must not keep a command that is done.
  process.exit();
}
