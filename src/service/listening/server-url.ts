/** Formats the URL of a server. */

import { isIPv6 } from 'node:net';

/** Wildcard hosts, and the address that a browser on this machine can open instead. */
const OPENABLE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/**
 * Returns the URL that a browser on this machine can open, from the host and port of the server.
 */
export function formatOrigin(host: string, port: number): string {
  const authority = isIPv6(host) ? `[${host}]` : host;
  // A server can listen on a scoped address such as fe80::1%eth0, but a URL cannot contain this
  // address.
  const text = `http://${authority}:${port}`;
  if (!URL.canParse(text)) return text;
  const { hostname, origin } = new URL(text);
  return Object.hasOwn(OPENABLE, hostname) ? origin.replace(hostname, OPENABLE[hostname]) : origin;
}
