/** Finds the route of a request, and the methods that the route accepts. */

import { RequestError, wrongValue } from '../../info/request-error.ts';
import { hasMore } from './parse-limits.ts';

export type Route =
  | { readonly name: KeyedRoute; readonly secret: string }
  | { readonly name: 'asset'; readonly file: string }
  | { readonly name: PublicRoute };

/** Routes whose path starts with a key: /{key}/info and /{key}/ws. */
type KeyedRoute = 'info' | 'ws';
type PublicRoute = 'home' | 'health' | 'openapi' | 'llms';

/** A route without a key: a page, or the health of the service. */
export type PageRoute = Exclude<Route, { name: KeyedRoute }>;

const KEYED_ROUTES: readonly string[] = ['info', 'ws'] satisfies KeyedRoute[];

/**
 * Maximum number of slashes in a path. Parsing a path with thousands of slashes costs as much as
 * several answers.
 */
const SLASHES_MAX = 32;

const PUBLIC_ROUTES: Readonly<Record<string, PublicRoute>> = {
  '': 'home',
  health: 'health',
  'openapi.json': 'openapi',
  'llms.txt': 'llms',
};

export const INFO_METHODS = 'GET, HEAD, POST, OPTIONS';
const PUSH_METHODS = 'GET, OPTIONS';
const PAGE_METHODS = 'GET, HEAD, OPTIONS';

export const NOT_FOUND = new RequestError(
  'not_found',
  'there is no such path; expected /{key}/info or /{key}/ws',
);

export function refuseMethod(method: string, allow: string): RequestError {
  return wrongValue('method', method, allow, 'method_not_allowed');
}

export function methodsOf({ name }: Route): string {
  if (name === 'ws') return PUSH_METHODS;
  return name === 'info' ? INFO_METHODS : PAGE_METHODS;
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Returns the path of a target in origin form ("/a?b") or in absolute form ("http://host/a?b"). */
function pathOf(target: string): string {
  if (!target.startsWith('/')) return URL.canParse(target) ? new URL(target).pathname : '';
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

/** Returns the query string, still encoded; returns an empty text if the target has no query. */
export function queryOf(target: string): string {
  const [beforeFragment] = target.split('#', 1);
  const start = beforeFragment.indexOf('?');
  return start === -1 ? '' : beforeFragment.slice(start + 1);
}

function isKeyed(segment: string | undefined): segment is KeyedRoute {
  return segment !== undefined && KEYED_ROUTES.includes(segment);
}

/**
 * Returns the decoded segments of a path. Some clients append "/info" to a base URL that ends with
 * a slash, so any number of slashes before "info" and "ws" counts as one slash.
 */
function segmentsOf(target: string): (string | undefined)[] {
  const path = pathOf(target);
  if (hasMore(path, '/', SLASHES_MAX)) return [];
  const segments = path.split('/').slice(1).map(decodeSegment);
  if (segments.length > 1 && segments.at(-1) === '') segments.pop();
  if (isKeyed(segments.at(-1))) {
    while (segments.length > 1 && segments.at(-2) === '') segments.splice(-2, 1);
  }
  return segments;
}

/**
 * Returns the route of a target; returns undefined if the target has no route. A trailing slash and
 * percent-encoding make no difference. "/info" and "//info" are the endpoint without a key.
 */
export function findRoute(target: string): Route | undefined {
  const segments = segmentsOf(target);
  const [first, second] = segments;
  if (segments.length === 2 && isKeyed(second) && first !== undefined) {
    return { name: second, secret: first };
  }
  if (segments.length === 2 && first === 'assets' && second !== undefined) {
    return { name: 'asset', file: second };
  }
  if (segments.length !== 1 || first === undefined) return undefined;
  if (isKeyed(first)) return { name: first, secret: '' };
  return Object.hasOwn(PUBLIC_ROUTES, first) ? { name: PUBLIC_ROUTES[first] } : undefined;
}
