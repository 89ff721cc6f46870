/**
 * Computes the maximum number of connections. Each connection needs a file descriptor. A process
 * without free descriptors drops connections silently and cannot open files. So some descriptors
 * stay in reserve, and connections over the limit are refused, counted and logged.
 */

import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';

/**
 * The number of descriptors in reserve for the files of the ledger, for snapshots, and for
 * connections that are being closed.
 */
const SPARE = 64;

/** Returns the process's limit of open files; returns undefined on systems without /proc. */
function readLimit(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * Returns the configured maximum number of connections, or a lower maximum if the limit of open
 * files is too low.
 */
export function connectionsMaxOf(askedMax: number, log: Logger): number {
  const limit = readLimit();
  if (limit === undefined) return askedMax;
  const inUse = readdirSync('/proc/self/fd').length;
  const spare = Math.min(SPARE, Math.floor((limit - inUse) / 2));
  const countMax = Math.max(1, Math.min(askedMax, limit - inUse - spare));
  if (countMax < askedMax) {
    log.info(
      { connectionsMax: countMax, asked: askedMax, fileDescriptors: limit },
      'fewer connections than asked for: raise the limit of open files (ulimit -n)',
    );
  }
  return countMax;
}
