/**
 * What the exchange's own Python client makes of our responses. Its transport is a few lines (api.py of
 * hyperliquid-python-sdk: `post` and `_handle_exception`), repeated here as they are there.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isFollowed } from '../follow/perpinfo-upstream.ts';
import { startDemo } from './demo.ts';

const demo = await startDemo({ after });

class ClientError extends Error {
  readonly statusCode: number;
  readonly errorCode: unknown;
  readonly errorMessage: unknown;

  constructor(statusCode: number, errorCode: unknown, errorMessage: unknown) {
    super(`${statusCode}`);
    this.statusCode = statusCode;
    this.errorCode = errorCode;
    this.errorMessage = errorMessage;
  }
}

/** In Python a key that is absent is an error of its own. */
function readItem(object: Record<string, unknown>, name: string): unknown {
  if (!Object.hasOwn(object, name)) throw new TypeError(`KeyError: ${name}`);
  return object[name];
}

async function post(baseUrl: string, urlPath: string, payload: unknown): Promise<unknown> {
  const response = await fetch(baseUrl + urlPath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(payload),
  });
  if (response.status < 400) return response.json();
  assert.ok(response.status < 500);
  const error = (await response.json()) as Record<string, unknown>;
  throw new ClientError(response.status, readItem(error, 'code'), readItem(error, 'msg'));
}

const META = { type: 'meta' };
const { origin } = new URL(demo.base);
const base = demo.base.slice(0, -1);

test('a question is answered, whether the base address ends with a slash or not', async () => {
  const expected = await post(base, '/info', META);
  assert.deepEqual(await post(demo.base, '/info', META), expected);
});

test('what is wrong with a question has a code and a message that the client finds', async () => {
  const rows: [address: string, path: string, payload: unknown, status: number, code: string][] = [
    [origin, '/info', META, 401, 'unknown_key'],
    [`${origin}/nobody`, '/info', META, 401, 'unknown_key'],
    [base, '/exchange', META, 404, 'not_found'],
    [base, '/info', 'x'.repeat(70_000), 413, 'body_too_large'],
    [base, '/info', {}, 422, 'missing_field'],
    [base, '/info', { type: 'openOrders' }, 422, 'unknown_type'],
    [base, '/info', { type: 'delegations', user: '0x12' }, 422, 'invalid_address'],
  ];
  for (const [address, path, payload, status, code] of rows) {
    if (isFollowed && code === 'unknown_type') continue;
    const error: ClientError = await post(address, path, payload).then(
      () => assert.fail('it was answered'),
      (failure) => failure,
    );
    assert.deepEqual([error.statusCode, error.errorCode], [status, code], error.message);
    assert.match(String(error.errorMessage), /expected|longer/);
  }
});
