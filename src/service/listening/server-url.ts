/** The URL of a server. */

import { isIPv6 } from 'node:net';

/** Wildcard hosts, and the address that a browser on this machine can open instead. */
const OPENABLE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** The URL to open on this machine, from the host and port of the server. */
export function formatOrigin(host: string, port: number): string {
  const authority = isIPv6(host) ? `[${host}]` : host;
  // A scoped address such as fe80::1%eth0 can be listened on, but is not valid in a URL.
  const text = `http://${authority}:${port}`;
  if (!URL.canParse(text)) return text;
  const { hostname, origin } = new URL(text);
  return Object.hasOwn(OPENABLE, hostname) ? origin.replace(hostname, OPENABLE[hostname]) : origin;
}
