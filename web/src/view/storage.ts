/** What the browser keeps between visits: the key, addresses that were looked at, unfolded panels. */

const KEY = 'perpinfo.key';
const RECENT = 'perpinfo.recent';
const EXAMPLES = 'perpinfo.examples';
const UNFOLDED = 'perpinfo.unfolded';
const RECENT_MAX = 8;

/** Storage may be switched off; the page then works for one visit. */
function read(name: string): string {
  try {
    return localStorage.getItem(name) ?? '';
  } catch {
    return '';
  }
}

function write(name: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // Storage is unavailable: the value lives for this visit.
  }
}

/** Calls back when another tab forgets the key. */
export function onKeyForgotten(forgotten: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY && newValue === null) forgotten();
  });
}

function readList(name: string): string[] {
  return read(name).split(',').filter(Boolean);
}

export const loadKey = (): string => read(KEY);
export const saveKey = (key: string): void => write(KEY, key);
export const loadRecent = (): string[] => readList(RECENT);
export const loadExamples = (): string[] => readList(EXAMPLES);

export function forgetAddresses(): void {
  write(RECENT, '');
  write(EXAMPLES, '');
}

/** Of a panel that is folded unless somebody has unfolded it. */
export function isUnfolded(panel: string): boolean {
  return readList(UNFOLDED).includes(panel);
}

export function saveUnfolded(panel: string, isOpen: boolean): void {
  const others = readList(UNFOLDED).filter((other) => other !== panel);
  write(UNFOLDED, [...others, ...(isOpen ? [panel] : [])].join(','));
}

/** Newest first, without duplicates. */
export function saveRecent(user: string): string[] {
  const others = loadRecent().filter((other) => other !== user);
  const recent = [user, ...others].slice(0, RECENT_MAX);
  write(RECENT, recent.join(','));
  return recent;
}

export interface Handed {
  readonly key: string;
  readonly examples: readonly string[];
}

/**
 * Takes key and example users out of the fragment, which no request carries, and the fragment out of
 * the address bar and the history. Undefined where there was no key in it.
 */
export function takeKey(): Handed | undefined {
  const given = new URLSearchParams(location.hash.slice(1));
  const key = given.get('key');
  if (!key) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  const examples = (given.get('users') ?? '').split(',').filter(Boolean);
  write(KEY, key);
  write(EXAMPLES, examples.join(','));
  return { key, examples };
}
