/** The addresses under which a server that listens is reached. */

import { isIPv6 } from 'node:net';

/** Hosts that stand for all of a machine's addresses, and one of them that opens in a browser there. */
const OPENABLE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** An address that opens on this machine, for the host and port that are listened on. */
export function formatOrigin(host: string, port: number): string {
  const authority = isIPv6(host) ? `[${host}]` : host;
  // A scoped address such as fe80::1%eth0 is one that listens but that URLs do not have.
  const text = `http://${authority}:${port}`;
  if (!URL.canParse(text)) return text;
  const { hostname, origin } = new URL(text);
  return Object.hasOwn(OPENABLE, hostname) ? origin.replace(hostname, OPENABLE[hostname]) : origin;
}
