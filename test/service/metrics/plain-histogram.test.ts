/** That prom-client reads our histogram as it reads its own, alone and over the workers of a cluster. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { PlainHistogram } from '../../../src/service/metrics/plain-histogram.ts';

const NAME = 'test_seconds';
const HELP = 'Seconds of a test.';
const BUCKETS = [0.001, 0.01, 0.1];
/** Below, at and above the bounds. */
const OBSERVED = [
  ['one', 0.0005],
  ['one', 0.001],
  ['other', 0.05],
  ['one', 7],
] as const;

function countPlain(): Registry {
  const registry = new Registry();
  const options = { name: NAME, help: HELP, label: 'kind', buckets: BUCKETS, registry };
  const histogram = new PlainHistogram(options);
  for (const [kind, seconds] of OBSERVED) histogram.observe(kind, seconds);
  return registry;
}

function countByLibrary(): Registry {
  const registry = new Registry();
  const options = { name: NAME, help: HELP, labelNames: ['kind'], buckets: BUCKETS };
  const histogram = new Histogram({ ...options, registers: [registry] });
  for (const [kind, seconds] of OBSERVED) histogram.observe({ kind }, seconds);
  return registry;
}

/** The samples of a page of metrics; labels come in any order. */
function readPage(page: string): string[] {
  return page
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\{(.*)\}/, (_, labels) => `{${labels.split(',').sort()}}`))
    .sort();
}

test('the histogram is printed as one of the library', async () => {
  const plain = readPage(await countPlain().metrics());
  assert.deepEqual(plain, readPage(await countByLibrary().metrics()));
  assert.ok(plain.includes(`${NAME}_bucket{kind="one",le="0.001"} 2`), plain.join('\n'));
});

test('the histograms of several workers are added up as those of the library', async () => {
  const addUp = async (count: () => Registry) => {
    const reports = [await count().getMetricsAsJSON(), await count().getMetricsAsJSON()];
    return readPage(await AggregatorRegistry.aggregate(reports).metrics());
  };
  const plain = await addUp(countPlain);
  assert.deepEqual(plain, await addUp(countByLibrary));
  assert.ok(plain.includes(`${NAME}_bucket{kind="one",le="0.001"} 4`), plain.join('\n'));
});

test('an observation that counts several times equals as many observations', async () => {
  const [once, thrice] = [new Registry(), new Registry()];
  const options = { name: NAME, help: HELP, label: 'kind', buckets: BUCKETS };
  new PlainHistogram({ ...options, registry: once }).observe('one', 0.5, 3);
  const repeated = new PlainHistogram({ ...options, registry: thrice });
  for (let index = 0; index < 3; index++) repeated.observe('one', 0.5);
  assert.equal(await once.metrics(), await thrice.metrics());
});
