/**
 * Measures how large the data folder is, how fast it grows, and how long the disk will last at that pace. It
 * looks once a minute. The growth is that of the last hours, because single files grow in steps.
 */

import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import type { DiskReport } from '../../http/pages/health.ts';
import { readFreeBytes } from '../../ledger/embedded/disk-failure.ts';
import { findOpenFolder } from '../../ledger/embedded/folder.ts';

const LOOK_MS = 60_000;
const GROWTH_MS = 6 * 3_600_000;
/** The growth in a shorter time does not predict the growth of a day. */
const SPAN_MS_MIN = 10 * 60_000;
const DAY_MS = 86_400_000;
/** The warning comes when so much time is left to react. */
const DAYS_LEFT_MIN = 7;
const FREE_BYTES_MIN = 256 << 20;
const GIGABYTE = 1e9;

export interface DiskWatchOptions {
  readonly data: string;
  /** Called once a day while the disk is filling up. */
  warn?(message: string): void;
}

/** The result of a look at the folder. */
export interface DiskSample {
  /** The time by a clock that never goes back. */
  readonly atMs: number;
  readonly bytes: number;
  readonly freeBytes: number;
}

export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void>;
  #samples: readonly DiskSample[] = [];
  #warnedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#looking = this.#look();
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Undefined until the folder was looked at, or if it cannot be read. */
  get report(): DiskReport | undefined {
    return describeSamples(this.#samples);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    if (this.#isClosed) return;
    const nowMs = performance.now();
    try {
      const { data } = this.#options;
      const bytes = await measureFolder(data);
      const freeBytes = readFreeBytes(data);
      if (freeBytes === undefined) throw new Error('the system does not say what is free');
      const recent = this.#samples.filter(({ atMs }) => nowMs - atMs <= GROWTH_MS);
      this.#samples = [...recent, { atMs: nowMs, bytes, freeBytes }];
    } catch {
      // A folder that is missing or unreadable is reported by the parts that need it.
      this.#samples = [];
    }
    this.#warn(nowMs);
  }

  #warn(nowMs: number): void {
    const warning = this.report?.warning;
    if (warning === undefined || nowMs - this.#warnedMs < DAY_MS) return;
    this.#warnedMs = nowMs;
    this.#options.warn?.(warning);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
  }
}

/**
 * Watches the folder and its disk while the work is done, and warns in the log. Only one process of a
 * service does that.
 */
export async function withDiskWarnings(
  { data }: { readonly data: string },
  log: Logger,
  work: () => Promise<void>,
): Promise<void> {
  if (data === '') return work();
  const open = findOpenFolder(data);
  if (open !== undefined) log.warn(open);
  const watch = new DiskWatch({ data, warn: (message) => log.warn(message) });
  try {
    await work();
  } finally {
    await watch.close();
  }
}

/** @internal Exported for the tests, which have no hours to wait. */
export function describeSamples(samples: readonly DiskSample[]): DiskReport | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const { bytes, freeBytes } = last;
  const spanMs = last.atMs - first.atMs;
  const dayBytes =
    spanMs < SPAN_MS_MIN
      ? null
      : Math.max(0, Math.round(((bytes - first.bytes) * DAY_MS) / spanMs));
  const daysLeft = dayBytes === null || dayBytes === 0 ? null : Math.floor(freeBytes / dayBytes);
  const report = { bytes, dayBytes, freeBytes, daysLeft };
  const warning = describeShortage(report);
  return warning === undefined ? report : { ...report, warning };
}

function describeShortage({ freeBytes, dayBytes, daysLeft }: DiskReport): string | undefined {
  const isShort = daysLeft !== null && daysLeft < DAYS_LEFT_MIN;
  if (!isShort && freeBytes >= FREE_BYTES_MIN) return undefined;
  const free = `${formatGigabytes(freeBytes)} GB are free on the disk of the data folder`;
  if (!isShort) return free;
  const days = daysLeft === 0 ? 'less than a day' : `about ${daysLeft} days`;
  return `${free}, enough for ${days}: it grows by ${formatGigabytes(dayBytes ?? 0)} GB a day`;
}

function formatGigabytes(bytes: number): string {
  return (bytes / GIGABYTE).toFixed(bytes < GIGABYTE ? 3 : 1);
}

/** Files of the folder and of the folders in it: the ledger, the archive, snapshots, keys. */
async function measureFolder(folder: string, depth = 1): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true });
  let bytes = 0;
  for (const entry of entries) {
    const place = path.join(folder, entry.name);
    if (entry.isFile()) bytes += await measureFile(place);
    else if (entry.isDirectory() && depth > 0) bytes += await measureFolder(place, depth - 1);
  }
  return bytes;
}

/** 0 for a file that is gone: snapshots and drafts come and go. */
async function measureFile(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  return found?.size ?? 0;
}
