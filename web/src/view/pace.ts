/** The paces at which the page can show new figures. */

export const PACES = [
  { ms: 250, name: '4 times a second' },
  { ms: 1_000, name: 'once a second' },
  { ms: 5_000, name: 'every 5 seconds' },
] as const;

const DEFAULT_MS = 1_000;

/** Reads the text that the browser has stored; returns the default if the text is invalid. */
export function readPace(text: string): number {
  return PACES.find(({ ms }) => String(ms) === text)?.ms ?? DEFAULT_MS;
}
