/** The references of commands, metrics and health are compared with the code. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { formatOpenApi } from '../../src/http/pages/openapi.ts';
import { FeedFailures } from '../../src/service/feed-failures.ts';
import { addDiskMetrics } from '../../src/service/metrics/disk-metrics.ts';
import { addFeedMetrics } from '../../src/service/metrics/feed-metrics.ts';
import { FollowMetrics } from '../../src/service/metrics/follow-metrics.ts';
import { addMemoryMetrics } from '../../src/service/metrics/memory-metrics.ts';
import { Metrics } from '../../src/service/metrics/metrics.ts';
import { run } from '../../tools/harness/program.ts';
import { readDocument, readSections } from './documents.ts';

const METRICS = readDocument('docs/reference/metrics.md');

/** What stands in backquotes at the beginning of each row. */
function firstCells(text: string): string[] {
  return Array.from(text.matchAll(/^\| `([^`]+)`/gm), ([, cell]) => cell);
}

test('the page lists every metric with its type, and no other', async () => {
  const registry = new Registry();
  new Metrics(registry);
  addDiskMetrics(registry, () => undefined);
  new FollowMetrics(registry, () => undefined);
  addMemoryMetrics(registry, () => []);
  addFeedMetrics(registry, new FeedFailures());
  const exported = (await registry.getMetricsAsJSON())
    .filter(({ name }) => !/^perpinfo_(process|nodejs)_/.test(name))
    .map(({ name, type }) => `${name} ${type}`);
  const rows = METRICS.matchAll(/^\| `(\w+)` \| (\w+) \|/gm);
  const listed = Array.from(rows, ([, name, type]) => `${name} ${type}`);
  assert.deepEqual(listed.sort(), exported.sort());
});

test('the page lists every command of the help', async () => {
  const { stdout } = await run(['help']);
  const commands = Array.from(
    stdout.matchAll(/^ {2}([a-z]+)(?: [a-z]+)? {2,}/gm),
    ([, name]) => name,
  );
  const [introduction] = readDocument('docs/reference/commands.md').split('\n## ');
  const listed = firstCells(introduction).map((cell) => cell.split(' ')[0]);
  assert.deepEqual(listed.sort(), [...new Set(commands)].sort());
});

test('the page explains every status of health', () => {
  const { status } = JSON.parse(formatOpenApi()).components.schemas.Health.properties;
  assert.deepEqual(
    firstCells(readDocument('docs/reference/health.md').split('\n## ')[0]),
    status.enum,
  );
});

test('the page explains every reason to leave the fast lane', () => {
  const [, union] =
    /type LaneExit =([^;]*);/.exec(readDocument('src/http/answering/counters.ts')) ?? [];
  const reasons = Array.from(union.matchAll(/'(\w+)'/g), ([, reason]) => reason);
  assert.deepEqual(firstCells(readSections(METRICS, 2).get('The fast lane') ?? ''), reasons);
});
