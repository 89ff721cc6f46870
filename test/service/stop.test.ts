/** A stop is bounded, also where the ledger hangs. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { createPlaces, joinLines, type Outcome, Program } from '../../tools/harness/program.ts';
import { makeLedger, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { STOP_TIMEOUT_MS, STUCK_LINE, STUCK_VARIABLE } from './stuck-ledger.ts';

const place = createPlaces();
const lines = simulateLines(10);
const SCRIPT = path.join(import.meta.dirname, 'stuck-ledger.js');
/** The timeouts of feed and workers, five seconds to close, and time to start and end processes. */
const STOP_MS_MAX = 2 * STOP_TIMEOUT_MS + 5_000 + 4_000;

interface StuckOptions {
  readonly method: 'append' | 'open' | 'read';
  /** How many of them listen; 0 if it does not get that far. */
  readonly workers: number;
  readonly flags?: readonly string[];
  readonly input?: string;
}

/** Stops a service whose ledger hangs, once it does and the workers listen. */
async function stopStuck({
  method,
  workers,
  flags = [],
  input = '',
}: StuckOptions): Promise<Outcome> {
  const data = await makeLedger(place(), lines.slice(0, 5));
  const ports = ['--port', '0', '--admin-port', '0'];
  const count = ['--workers', `${Math.max(1, workers)}`];
  const serve = ['serve', '--data', data, '--max-age', '0', ...ports, ...count, ...flags];
  const program = new Program([process.execPath, SCRIPT, ...serve], { [STUCK_VARIABLE]: method });
  program.child.stdin.write(input);
  await until('workers that listen, and a ledger that hangs', () => {
    if (program.child.exitCode !== null) throw new Error(`it ended: ${program.stderr}`);
    const isStuck = program.stderr.includes(STUCK_LINE);
    return isStuck && (program.stdout + program.stderr).split('"listening"').length > workers;
  });
  const stoppedMs = performance.now();
  program.child.kill('SIGTERM');
  const outcome = await program.ended;
  const tookMs = performance.now() - stoppedMs;
  assert.ok(tookMs < STOP_MS_MAX, `it took ${tookMs} ms`);
  return outcome;
}

test('a service ends although the ledger that it reads hangs', async () => {
  const { code, stdout } = await stopStuck({ method: 'read', workers: 1 });
  assert.equal(code, 0);
  assert.match(stdout, /"shutdown timed out: open files and connections end with the process"/);
});

test('workers whose ledger hangs are killed', async () => {
  const { code, stdout } = await stopStuck({ method: 'read', workers: 2 });
  assert.equal(code, 0);
  assert.equal(stdout.match(/"a worker did not stop in time: killed"/g)?.length, 2);
});

test('a service ends although its feed cannot store, and says what is not stored', async () => {
  const fed = { flags: ['--feed', '-'], input: joinLines(lines.slice(5)) };
  const { code, stdout, stderr } = await stopStuck({ method: 'append', workers: 1, ...fed });
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    /perpinfo: the feed did not end in time: what it read after block 5 is not stored\n$/,
  );
});

for (const flags of [[], ['--feed', '-']]) {
  const rest = flags.length > 0 ? ', and its feed has not begun' : '';
  test(`a service ends although its ledger cannot be opened${rest}`, async () => {
    const { code, signal } = await stopStuck({ method: 'open', workers: 0, flags });
    assert.deepEqual([code, signal], [0, null]);
  });
}
