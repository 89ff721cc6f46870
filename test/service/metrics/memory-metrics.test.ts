/** The private memory that the metrics report, of every process of a service. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import {
  addMemoryMetrics,
  readPrivateMemory,
  type ServiceProcess,
} from '../../../src/service/metrics/memory-metrics.ts';
import { readOwnBytes } from '../../../tools/harness/processes.ts';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, readSamples, startService, until } from '../../../tools/harness/running.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const lines = simulateLines(10);
const MIB = 2 ** 20;

function nameOf(role: string, pages = 'dirty'): string {
  return `perpinfo_private_memory_bytes{role="${role}",pages="${pages}"}`;
}

async function readMetric(processes: readonly ServiceProcess[]): Promise<Map<string, number>> {
  const registry = new Registry();
  addMemoryMetrics(registry, () => processes);
  return readSamples(await registry.metrics());
}

for (const [workers, flags, roles] of [
  [1, ['--archive'], ['worker', 'archiver']],
  [2, [], ['supervisor', 'worker']],
  [1, ['--feed', '-'], ['feed', 'worker']],
] as const) {
  const shown = flags.length === 0 ? 'no flags' : flags.join(' ');
  test(`with ${workers} workers and ${shown}, the memory of ${roles.join(' and ')} is reported`, async (context) => {
    const data = await makeLedger(place(), lines);
    const service = await startService(context, { data, workers, flags });
    // An archiver that has just been started has written little.
    const samples = await until('all processes', async () => {
      const read = readSamples(await service.metrics());
      return roles.every((role) => (read.get(nameOf(role)) ?? 0) > 5 * MIB) && read;
    });
    const reported = [...samples.keys()].filter((name) => name.includes('private_memory'));
    const expected = roles.flatMap((role) => [nameOf(role, 'clean'), nameOf(role)]);
    assert.deepEqual(reported.sort(), expected.sort());
    const anonymous = service.workerPids.reduce((sum, pid) => sum + readOwnBytes(pid), 0);
    const dirty = samples.get(nameOf('worker')) ?? 0;
    assert.ok(Math.abs(dirty - anonymous) < anonymous / 3, `${dirty} and ${anonymous} bytes`);
  });
}

test('what a process has written is dirty, and processes of a role are added up', async () => {
  const before = await readPrivateMemory(process.pid);
  const written = Buffer.alloc(64 * MIB, 1);
  const after = await readPrivateMemory(process.pid);
  assert.ok((after?.dirty ?? 0) - (before?.dirty ?? 0) > written.length / 2);
  const once = await readMetric([{ role: 'worker', pid: process.pid }]);
  const twice = await readMetric([1, 2].map(() => ({ role: 'worker', pid: process.pid })));
  const ratio = (twice.get(nameOf('worker')) ?? 0) / (once.get(nameOf('worker')) ?? 0);
  assert.ok(ratio > 1.5 && ratio < 2.5, `${ratio}`);
});

test('a process that has ended is left out', async () => {
  const ended = 2 ** 22;
  assert.equal(await readPrivateMemory(ended), undefined);
  assert.deepEqual([...(await readMetric([{ role: 'archiver', pid: ended }])).keys()], []);
});
