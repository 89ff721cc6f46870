import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { readOwnBytes } from '../../tools/harness/processes.ts';
import { createPlaces, start } from '../../tools/harness/program.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const MEBIBYTE = 2 ** 20;
const SMALL_BYTES = 36 * MEBIBYTE;
const LARGE_BYTES = 6 * SMALL_BYTES;
/** Garbage that may accumulate between collections: far less than the large file. */
const SPARE_BYTES = 64 * MEBIBYTE;
const SAMPLE_MS = 5;
const COINS = Array.from({ length: 400 }, (_, index) => `COIN${index}`);
const TIME = 1_758_556_800_000;

function firstBlock(): string {
  const events = COINS.map((coin) => ({
    type: 'market',
    dex: '',
    coin,
    szDecimals: 0,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
    onlyIsolated: false,
    markPx: '1.0',
  }));
  return JSON.stringify({ height: 1, time: TIME, events });
}

/** Blocks of new marks: cheap to make and to apply, and they do not grow the state. */
function writeBlocks(bytes: number): string {
  const file = place('blocks.ndjson');
  const target = openSync(file, 'w');
  const prices = Object.fromEntries(COINS.map((coin, index) => [coin, `${index + 1}.25`]));
  const events = JSON.stringify([{ type: 'marks', prices }]);
  writeSync(target, `${firstBlock()}\n`);
  for (let height = 2, written = 0; written < bytes; height++) {
    written += writeSync(target, `{"height":${height},"time":${TIME},"events":${events}}\n`);
  }
  closeSync(target);
  return file;
}

async function measurePeak(file: string): Promise<number> {
  const data = place();
  const program = start(['append', '--data', data, file]);
  const { pid } = program.child;
  assert.ok(pid !== undefined);
  let peak = 0;
  let samples = 0;
  const timer = setInterval(() => {
    if (program.child.exitCode !== null) return;
    peak = Math.max(peak, readOwnBytes(pid) || 0);
    samples++;
  }, SAMPLE_MS);
  const { code, stderr } = await program.ended;
  clearInterval(timer);
  assert.equal(code, 0, stderr);
  assert.ok(samples > 10, `only ${samples} samples`);
  for (const place of [data, file]) rmSync(place, { recursive: true });
  return peak;
}

const options = process.platform === 'linux' ? LONG_ONLY : { skip: 'there is no /proc' };

test('the memory of an append does not grow with the file', options, async (context) => {
  const small = await measurePeak(writeBlocks(SMALL_BYTES));
  const large = await measurePeak(writeBlocks(LARGE_BYTES));
  const [a, b] = [small, large].map((bytes) => Math.round(bytes / MEBIBYTE));
  context.diagnostic(`at most ${a} MiB, and ${b} MiB for a file of six times the size`);
  assert.ok(large < 1.5 * small + SPARE_BYTES, `${b} MiB after ${a} MiB`);
});
