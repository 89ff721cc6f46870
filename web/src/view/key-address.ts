/**
 * Reads the key from a pasted text: the key itself, or any address of the service that has the key
 * in it. An address of another service is refused, because its key must not be sent to this
 * service.
 */

export type ReadKey = { readonly key: string } | { readonly problem: string };

const EXPECTED = 'Expected a key, or an address such as';

/** Matches an assignment in a shell, because the demo prints its base address in this form. */
const SHELL_LINE = /^(?:export\s+)?\w+=(["']?)(.*)\1$/;
/**
 * Names of the local machine. The page may be open under one of these names, and the address may
 * have another.
 */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;
const ROUTES = ['info', 'ws'];

/** Returns the key, or a text that says what is wrong. `origin` is the origin of the page. */
export function readKey(typed: string, origin: string): ReadKey {
  const text = typed.trim().replace(SHELL_LINE, '$2');
  if (text === '') return { problem: 'Enter a key first.' };
  if (!/[/#:]/.test(text)) {
    return /\s/.test(text) ? { problem: 'A key has no spaces in it.' } : { key: text };
  }
  const url = parseAddress(text, origin);
  if (url === undefined) return { problem: `This is not an address. ${describeExpected(origin)}` };
  if (!isSameService(url, new URL(origin))) return { problem: describeOther(url, origin) };
  const key = keyIn(url);
  return key === undefined
    ? { problem: `There is no key in this address. ${describeExpected(origin)}` }
    : { key };
}

function describeExpected(origin: string): string {
  return `${EXPECTED} ${origin}/KEY/info.`;
}

function describeOther({ origin: other }: URL, origin: string): string {
  return (
    `This is an address of ${other}, and this page asks ${origin} only, so the key was not used. ` +
    `Open the page of ${other}, or enter a key of this service.`
  );
}

/**
 * Reads an address with a scheme of HTTP or WebSocket, without a scheme ("host:8080/KEY"), or with
 * only a path.
 */
function parseAddress(text: string, origin: string): URL | undefined {
  const isComplete = /^\w+:\/\//.test(text);
  const isPlace = /^[/#]/.test(text);
  const address = isComplete || isPlace ? text : `${new URL(origin).protocol}//${text}`;
  if (/\s/.test(text) || !URL.canParse(address, origin)) return undefined;
  const url = new URL(address.replace(/^ws/, 'http'), origin);
  return /^https?:$/.test(url.protocol) ? url : undefined;
}

function isSameService(url: URL, page: URL): boolean {
  const areLoopback = LOOPBACK.test(url.hostname) && LOOPBACK.test(page.hostname);
  return (
    url.protocol === page.protocol &&
    url.port === page.port &&
    (url.hostname === page.hostname || areLoopback)
  );
}

/**
 * Returns the key of an address with /KEY, /KEY/, /KEY/info, /KEY/ws, or /#key=KEY; returns
 * undefined for another address.
 */
function keyIn({ pathname, hash }: URL): string | undefined {
  const segments = pathname.split('/').filter(Boolean);
  if (segments.length === 0) return new URLSearchParams(hash.slice(1)).get('key') || undefined;
  const [key, route = 'info'] = segments;
  const isRoute = segments.length <= 2 && ROUTES.includes(route);
  return isRoute && !PAGES.includes(key) ? decode(key) : undefined;
}

/** The first path segments of addresses that the service serves without a key. */
const PAGES = ['info', 'ws', 'health', 'assets', 'openapi.json', 'llms.txt'];

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
