/** The commands by name, in the order of the help. */

import { UsageError } from '../config/usage-error.ts';
import type { Command } from './command.ts';

/**
 * Commands are loaded on first use, so that a command starts without the modules of the other
 * commands.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./commands/demo.ts')).demo,
  serve: async () => (await import('./commands/serve.ts')).serve,
  follow: async () => (await import('./commands/follow.ts')).follow,
  append: async () => (await import('./commands/append.ts')).append,
  query: async () => (await import('./commands/query.ts')).query,
  history: async () => (await import('./commands/history.ts')).history,
  archive: async () => (await import('./commands/archive.ts')).archive,
  compare: async () => (await import('./commands/compare.ts')).compare,
  probe: async () => (await import('./commands/probe.ts')).probe,
  'keys create': async () => (await import('./commands/keys.ts')).keysCreate,
  'keys list': async () => (await import('./commands/keys.ts')).keysList,
  'keys revoke': async () => (await import('./commands/keys.ts')).keysRevoke,
  verify: async () => (await import('./commands/verify.ts')).verify,
  snapshot: async () => (await import('./commands/snapshot.ts')).snapshot,
  backup: async () => (await import('./commands/backup.ts')).backup,
  restore: async () => (await import('./commands/restore.ts')).restore,
  prune: async () => (await import('./commands/prune.ts')).prune,
  copy: async () => (await import('./commands/copy.ts')).copy,
  simulate: async () => (await import('./commands/simulate.ts')).simulate,
};
const NAMES = Object.keys(COMMANDS);

/** Loads the command that the arguments name; throws if they name no command. */
export function loadCommand(argv: readonly string[]): Promise<Command> {
  const found = NAMES.find((name) => name.split(' ').every((word, index) => argv[index] === word));
  if (found !== undefined) return COMMANDS[found]();
  const second = argv.slice(1, 2).filter((word) => !word.startsWith('-'));
  const given = JSON.stringify([argv[0], ...second].join(' ').slice(0, 60));
  throw new UsageError([`got command ${given}, expected one of ${NAMES.join(', ')}`]);
}

export function loadAllCommands(): Promise<Command[]> {
  return Promise.all(NAMES.map((name) => COMMANDS[name]()));
}

/**
 * Loads the commands of a group such as "keys"; resolves with an empty list if there is no such
 * group.
 */
export function loadCommandGroup(group: string): Promise<Command[]> {
  const names = NAMES.filter((name) => name.startsWith(`${group} `));
  return Promise.all(names.map((name) => COMMANDS[name]()));
}
