/** Environment variables that look like settings, and are none. */

import { SETTINGS } from './settings.ts';

const PREFIX = 'PERPINFO_';
const KNOWN: readonly string[] = Object.values(SETTINGS).flatMap(({ variable, file }) =>
  file === undefined ? [variable] : [variable, file.variable],
);

/**
 * A cluster sets these in each container, about each of its services. One that is named perpinfo, or
 * perpinfo-NAME, gives names that begin as ours do; the last of them may be those of our own ports.
 */
const INJECTED_NAME =
  /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const INJECTED_ADDRESS = /^(tcp|udp|sctp):\/\//;

export function isInjected(name: string, value: string): boolean {
  return INJECTED_NAME.test(name) || (name.endsWith('_PORT') && INJECTED_ADDRESS.test(value));
}

/** A sentence about each variable that has our prefix, and that nothing reads. */
export function findUnknownVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (!name.startsWith(PREFIX) || KNOWN.includes(name) || isInjected(name, value)) return [];
    return [describeUnknown(name)];
  });
}

/** Never shows the value: it may be a secret under a misspelt name. */
function describeUnknown(name: string): string {
  const shown = JSON.stringify(name.slice(0, 60)).slice(1, -1);
  const likely = findLikely(name);
  const advice =
    likely === undefined ? 'docs/configuration.md lists all' : `did you mean ${likely}?`;
  return `the variable ${shown} is ignored, it is no setting: ${advice}`;
}

/** A misspelling changes, adds, leaves out or swaps few letters. */
const LETTERS_WRONG_MAX = 3;
/** Of the letters after the prefix; a short name is like many others. */
const SHARE_WRONG_MAX = 0.4;
const NAME_LENGTH_MAX = 100;

function findLikely(name: string): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return undefined;
  const given = name.slice(PREFIX.length).toUpperCase();
  const most = Math.min(LETTERS_WRONG_MAX, Math.floor(given.length * SHARE_WRONG_MAX));
  const near = KNOWN.map((known) => ({
    known,
    wrong: countWrongLetters(given, known.slice(PREFIX.length)),
  })).filter(({ wrong }) => wrong <= most);
  return near.sort((a, b) => a.wrong - b.wrong)[0]?.known;
}

/** The distance of two words: letters to change, add, leave out, or swap with the next one. */
function countWrongLetters(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    for (let column = 1; column <= b.length; column++) {
      const changed = last[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwapped ? before[column - 2] + 1 : changed;
      next.push(Math.min(changed, swapped, last[column] + 1, next[column - 1] + 1));
    }
    before = last;
    last = next;
  }
  return last[b.length];
}
