/** The table of errors: each code keeps its status, and what a client reads of one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  REQUEST_ERRORS,
  RequestError,
  type RequestErrorCode,
} from '../../src/info/request-error.ts';

/** Clients depend on each of them. */
const STATUSES: Record<RequestErrorCode, number> = {
  malformed_request: 400,
  malformed_json: 400,
  unknown_key: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  body_too_large: 413,
  unsupported_media_type: 415,
  missing_field: 422,
  invalid_field: 422,
  invalid_address: 422,
  unknown_type: 422,
  unknown_dex: 422,
  unknown_height: 422,
  rate_limited: 429,
  headers_too_large: 431,
  upstream_failed: 502,
  not_ready: 503,
  behind: 503,
  overloaded: 503,
};

test('every code has its status, and says what it means', () => {
  const statuses = Object.entries(REQUEST_ERRORS).map(([code, { status }]) => [code, status]);
  assert.deepEqual(Object.fromEntries(statuses), STATUSES);
  for (const { meaning } of Object.values(REQUEST_ERRORS)) assert.match(meaning, /^[a-z].+[^.]$/);
  for (const [code, status] of Object.entries(STATUSES)) {
    assert.equal(new RequestError(code as RequestErrorCode, '').status, status);
  }
});

test('an error is JSON with the names of the exchange beside its own', () => {
  const text = new RequestError('invalid_field', 'a "b"', 'dex').toJson();
  assert.equal(
    text,
    '{"error":"invalid_field","message":"a \\"b\\"","field":"dex"' +
      ',"code":"invalid_field","msg":"a \\"b\\""}',
  );
  const error = new RequestError('behind', 'late', undefined, 7);
  assert.equal(error.toJson(), '{"error":"behind","message":"late","code":"behind","msg":"late"}');
  assert.equal(error.retryAfterSeconds, 7);
  assert.equal(error.toJson(), error.toJson());
});
