/** How large the data folder is, how fast it grows, and when the disk is full. */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import type { DiskReport } from '../../../src/http/pages/health.ts';
import { addDiskMetrics } from '../../../src/service/metrics/disk-metrics.ts';
import { DiskWatch, describeSamples } from '../../../src/service/metrics/disk-watch.ts';
import { until } from '../../../tools/harness/running.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const MEGABYTE = 1_000_000;

/** The folder grows by a megabyte an hour. */
function samples(hours: number, freeBytes: number) {
  return Array.from({ length: hours + 1 }, (_, hour) => {
    return { atMs: hour * HOUR_MS, bytes: 500 * MEGABYTE + hour * MEGABYTE, freeBytes };
  });
}

test('the growth of the last hours says how many days the disk lasts', () => {
  assert.deepEqual(describeSamples(samples(6, 24_000 * MEGABYTE)), {
    bytes: 506 * MEGABYTE,
    dayBytes: 24 * MEGABYTE,
    freeBytes: 24_000 * MEGABYTE,
    daysLeft: 1000,
  });
});

test('nothing is said of the growth in the first minutes, nor of days where nothing grows', () => {
  assert.equal(describeSamples([]), undefined);
  const free = { bytes: 500, freeBytes: 1e12 };
  assert.deepEqual(describeSamples([{ atMs: 0, ...free }]), {
    ...free,
    dayBytes: null,
    daysLeft: null,
  });
  const still = [
    { atMs: 0, ...free },
    { atMs: HOUR_MS, ...free, bytes: 400 },
  ];
  assert.deepEqual(describeSamples(still), { ...free, bytes: 400, dayBytes: 0, daysLeft: null });
});

test('a disk that is full within a week is warned of, and one with little space left', () => {
  const warningOf = (freeBytes: number) => describeSamples(samples(6, freeBytes))?.warning;
  const free = 'GB are free on the disk of the data folder';
  assert.equal(warningOf(7 * 24 * MEGABYTE + 300 * MEGABYTE), undefined);
  assert.equal(
    warningOf(3 * 24 * MEGABYTE),
    `0.072 ${free}, enough for about 3 days: it grows by 0.024 GB a day`,
  );
  assert.match(warningOf(MEGABYTE) ?? '', /enough for less than a day/);
  const [sample] = samples(0, 100 * MEGABYTE);
  assert.equal(describeSamples([sample])?.warning, `0.100 ${free}`);
});

test('a folder is measured with the folders in it, and again later without a gap', async (t) => {
  const data = await makeTemporaryFolder(t);
  mkdirSync(path.join(data, 'ledger'));
  writeFileSync(path.join(data, 'ledger', 'data.mdb'), Buffer.alloc(10_000));
  writeFileSync(path.join(data, 'note'), Buffer.alloc(500));
  const watch = new DiskWatch({ data });
  t.after(() => watch.close());
  const report = await until('a report', () => watch.report);
  assert.equal(report.bytes, 10_500);
  assert.ok(report.freeBytes > 0);
});

test('a folder that cannot be read has no report', async (t) => {
  const watch = new DiskWatch({ data: path.join(await makeTemporaryFolder(t), 'nowhere') });
  await watch.close();
  assert.equal(watch.report, undefined);
});

test('the metrics have what is known, and nothing else', async () => {
  const registry = new Registry();
  let report: DiskReport | undefined;
  addDiskMetrics(registry, () => report);
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^perpinfo/.test(line));
  assert.deepEqual(await lines(), []);
  report = { bytes: 5, dayBytes: null, freeBytes: 7, daysLeft: null };
  assert.deepEqual(await lines(), ['perpinfo_data_bytes 5', 'perpinfo_disk_free_bytes 7']);
  report = { bytes: 5, dayBytes: 2, freeBytes: 7, daysLeft: 3 };
  assert.deepEqual(await lines(), [
    'perpinfo_data_bytes 5',
    'perpinfo_data_growth_bytes_per_day 2',
    'perpinfo_disk_free_bytes 7',
    'perpinfo_disk_days_left 3',
  ]);
});
