/**
 * The HTTP libraries of Python as Debian packages them: requests, as the exchange's official client uses
 * it, and aiohttp. They send headers and body apart, keep their connection, and stay on the fast lane.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { Program } from '../../tools/harness/program.ts';
import { readSamples } from '../../tools/harness/running.ts';
import { httpTransports, openTransports, type Transport } from '../conformance/transports.ts';
import { TYPES } from '../info/types.ts';

/** Debian's own, for which its packages are. */
const PYTHON = '/usr/bin/python3';
const LIBRARIES = ['requests', 'aiohttp'] as const;

/** Why a library's tests are left out; false where they are not, as with the variable CI set. */
function whyLeftOut(library: string): string | false {
  const isThere = spawnSync(PYTHON, ['-c', `import ${library}`]).status === 0;
  if (isThere || process.env['CI'] !== undefined) return false;
  return `it needs python3-${library} (on Debian: apt-get install python3-${library})`;
}

/** What became of each question. */
async function askWith(
  library: string,
  base: string,
  questions: readonly unknown[],
): Promise<unknown> {
  const script = path.join(PROJECT, 'test/clients/python', `${library}_client.py`);
  const client = new Program([PYTHON, script, base]);
  client.child.stdin.end(JSON.stringify(questions));
  const { code, stdout, stderr } = await client.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** How many connections have left the fast lane, for whatever reason. */
async function countExits({ registry }: Transport): Promise<number> {
  const samples = [...readSamples(await registry.metrics())];
  const exits = samples.filter(([name]) => name.startsWith('perpinfo_fast_lane_exits_total'));
  return exits.reduce((sum, [, count]) => sum + count, 0);
}

for (const library of LIBRARIES) {
  test(`Python's ${library} gets answers and refusals on one connection`, {
    skip: whyLeftOut(library),
  }, async (t) => {
    const transports = await openTransports(t);
    const { state, key } = transports;
    const user = formatAddress(state.addresses.addressOf(1));
    const account = { type: 'clearinghouseState', user };
    const questions = [{ type: 'meta' }, account, { type: 'openOrders', user }, {}, account];
    const answerTo = (question: unknown) => ({
      answer: JSON.parse(answerQuestion(state, question)),
    });
    const refusal = (code: string, got: string) => ({
      ...{ status: 422, code, msg: `type: got ${got}, expected one of ${TYPES}` },
    });
    for (const transport of httpTransports(transports)) {
      let connections = 0;
      transport.server.on('connection', () => {
        connections += 1;
      });
      const base = `http://127.0.0.1:${transport.port}/${key}`;
      assert.deepEqual(await askWith(library, base, questions), [
        answerTo({ type: 'meta' }),
        answerTo(account),
        refusal('unknown_type', '"openOrders"'),
        refusal('missing_field', 'nothing'),
        answerTo(account),
      ]);
      assert.equal(connections, 1, transport.name);
    }
    assert.equal(await countExits(transports.lane), 0);
  });
}
