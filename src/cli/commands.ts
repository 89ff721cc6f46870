/** The commands by name, in the order of the help. */

import { UsageError } from '../config/usage-error.ts';
import type { Command } from './command.ts';

/** Commands are loaded lazily, so that a command starts without the modules of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./demo.ts')).demo,
  serve: async () => (await import('./serve.ts')).serve,
  follow: async () => (await import('./follow.ts')).follow,
  append: async () => (await import('./append.ts')).append,
  query: async () => (await import('./query.ts')).query,
  history: async () => (await import('./history.ts')).history,
  archive: async () => (await import('./archive.ts')).archive,
  compare: async () => (await import('./compare.ts')).compare,
  probe: async () => (await import('./probe.ts')).probe,
  'keys create': async () => (await import('./keys.ts')).keysCreate,
  'keys list': async () => (await import('./keys.ts')).keysList,
  'keys revoke': async () => (await import('./keys.ts')).keysRevoke,
  verify: async () => (await import('./verify.ts')).verify,
  snapshot: async () => (await import('./snapshot.ts')).snapshot,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  prune: async () => (await import('./prune.ts')).prune,
  copy: async () => (await import('./copy.ts')).copy,
  simulate: async () => (await import('./simulate.ts')).simulate,
};
const NAMES = Object.keys(COMMANDS);

/** Loads the command that the arguments name. */
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

/** The commands of a group such as "keys"; empty if there is no such group. */
export function loadCommandGroup(group: string): Promise<Command[]> {
  const names = NAMES.filter((name) => name.startsWith(`${group} `));
  return Promise.all(names.map((name) => COMMANDS[name]()));
}
