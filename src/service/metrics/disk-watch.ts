/**
 * Measures the size of the data folder, its growth, and how long the disk will last at this growth.
 * A measurement is made once a minute. The growth is computed over the last hours, because single
 * files grow in steps.
 */

import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import type { DiskReport } from '../../http/pages/health.ts';
import { readFreeBytes } from '../../ledger/embedded/disk-failure.ts';
import { findOpenFolder } from '../../ledger/embedded/folder.ts';

const LOOK_MS = 60_000;
const GROWTH_MS = 6 * 3_600_000;
/** A growth that was measured over a shorter time does not predict the growth of a day. */
const SPAN_MS_MIN = 10 * 60_000;
const DAY_MS = 86_400_000;
/** A warning is reported if the disk will be full in fewer days than this. */
const DAYS_LEFT_MIN = 7;
const FREE_BYTES_MIN = 256 << 20;
const GIGABYTE = 1e9;

export interface DiskWatchOptions {
  readonly data: string;
  /** Called at most once a day while the disk is filling up. */
  warn?(message: string): void;
}

/** The result of one measurement of the folder. */
export interface DiskSample {
  /** The time of the measurement, from a monotonic clock. */
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

  /** Returns undefined until the folder has been measured, and while the folder cannot be read. */
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
      // The parts of the service that need the folder report that it is missing or unreadable.
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
 * Does the work, and meanwhile watches the folder and its disk and logs warnings. Only one process
 * of a service calls this function.
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

/** @internal Exported for the tests, which cannot wait for hours. */
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

/**
 * Returns the size of the files in the folder and in its subfolders: the ledger, the archive,
 * snapshots and keys.
 */
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

/**
 * Returns the size of the file; returns 0 if the file no longer exists, because snapshots and
 * drafts are deleted at any time.
 */
async function measureFile(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  return found?.size ?? 0;
}
