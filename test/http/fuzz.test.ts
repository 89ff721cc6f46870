/** Thousands of bad requests: each is refused in our own words, and none leaves a trace. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { REQUEST_ERRORS } from '../../src/info/request-error.ts';
import { badRequest } from '../../tools/harness/bad-requests.ts';
import { connect, type RawResponse } from '../../tools/harness/raw-client.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { ask, readRssMib, type Service, startService } from '../../tools/harness/service.ts';
import { ALSO_LONG, scale, shareOut } from '../scale.ts';

/** Enough for the heap to reach its working size. */
const WARM_UP_COUNT = scale(250, 500, 2500);
const REQUEST_COUNT = scale(500, 500, 5000);
const CONCURRENCY = 16;
/** What the heap of a running process may grow and shrink by. */
const RSS_MIB_TOLERANCE = 32;
const SETTLE_MS_MAX = 10_000;

/** What this many bad requests are bound to be refused with. */
const GIVEN = [
  ...['malformed_request', 'malformed_json', 'unknown_key', 'not_found', 'method_not_allowed'],
  ...['body_too_large', 'unsupported_media_type', 'missing_field', 'invalid_field'],
  ...['invalid_address', 'unknown_type', 'headers_too_large'],
];

/** Memory once it is back within the limit, or as it is when time is up; ordinary work goes on. */
async function settledRssMib(service: Service, limit: number): Promise<number> {
  const untilMs = performance.now() + SETTLE_MS_MAX;
  for (;;) {
    const rss = readRssMib(service.program);
    if (rss < limit || performance.now() > untilMs) return rss;
    assert.equal((await ask(service)).status, 200);
  }
}

/** How often each error was given. */
const tally = new Map<string, number>();

function checkRefusal({ status, headers, body }: RawResponse, hasBody: boolean): void {
  assert.ok(status >= 400 && status < 500, `status ${status}`);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  if (!hasBody) return;
  const { error, message } = JSON.parse(body);
  assert.ok(Object.hasOwn(REQUEST_ERRORS, error), error);
  assert.ok(message.length < 500, message);
  tally.set(error, (tally.get(error) ?? 0) + 1);
}

/** Sends a bad request and ends our side; all that comes back has to be a refusal. */
async function sendBad({ port, key }: Service, bytes: Buffer): Promise<void> {
  const client = await connect(port);
  client.socket.end(bytes);
  const hasBody = !bytes.toString('latin1', 0, 5).startsWith('HEAD ');
  let count = 0;
  for (;;) {
    const response = await client.next({ hasBody });
    if (response === undefined) break;
    checkRefusal(response, hasBody);
    assert.ok(!response.body.includes(key), 'a key is told again');
    count++;
  }
  assert.equal(client.left, '');
  // Empty lines are no request yet, and nothing is said to them.
  const isSilent = /^[\r\n]*$/.test(bytes.toString('latin1'));
  assert.ok(count > 0 || isSilent, 'no response');
}

async function sendAll(service: Service, requests: readonly Buffer[]): Promise<void> {
  const queue = requests.entries();
  const work = async () => {
    for (const [index, bytes] of queue) {
      try {
        await sendBad(service, bytes);
      } catch (error) {
        const shown = JSON.stringify(bytes.toString('latin1', 0, 600));
        throw new Error(`request ${index}: ${shown}: ${error}`, { cause: error });
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

const LANES = [
  ['fast lane', []],
  ["Node's server", ['--no-fast-lane']],
] as const;

for (const [lane, flags] of shareOut(LANES, 1)) {
  test(
    `bad requests are refused, and memory comes back (${lane}) ${SEED_NOTE}`,
    ALSO_LONG,
    async (t) => {
      await checkBadRequests(t, await startService(t, flags));
    },
  );
}

async function checkBadRequests(t: TestContext, service: Service): Promise<void> {
  tally.clear();
  const numRuns = WARM_UP_COUNT + REQUEST_COUNT;
  const requests = fc.sample(badRequest(service.key), { seed: SEED, numRuns });
  await sendAll(service, requests.slice(0, WARM_UP_COUNT));
  const before = readRssMib(service.program);
  await sendAll(service, requests.slice(WARM_UP_COUNT));
  const grown = (await settledRssMib(service, before + RSS_MIB_TOLERANCE)) - before;
  t.diagnostic(`memory: ${before.toFixed(1)} MiB, ${grown.toFixed(1)} MiB more after all`);
  assert.ok(grown < RSS_MIB_TOLERANCE, `memory has grown by ${grown.toFixed(1)} MiB`);
  t.diagnostic(Array.from(tally, ([error, count]) => `${error} ${count}`).join(', '));
  assert.deepEqual(
    GIVEN.filter((error) => !tally.has(error)),
    [],
  );
  assert.equal((await ask(service)).status, 200);
  const { code, stdout, stderr } = await service.stop();
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.ok(!stdout.includes(service.key), 'a key is logged');
  assert.ok(!/"level":[456]0/.test(stdout), stdout);
}
