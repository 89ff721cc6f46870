/** Errors of push: by their structure, or by their text where a service sends no structure. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describePushError,
  isAlreadySubscribed,
  readPushError,
} from '../../../web/src/service/push-error.ts';

const SUBSCRIPTION = { type: 'delegations', user: '0x1' };
const STRUCTURE = {
  ...{ code: 'rate_limited', message: 'the budget is spent', retryAfterSeconds: 5 },
  ...{ method: 'subscribe', subscription: SUBSCRIPTION },
};
const ALREADY = { ...STRUCTURE, code: 'invalid_field', field: 'method' };
const json = (value: object) => JSON.stringify(value);

test('an error with a structure is read by its structure, whatever its text says', () => {
  const read = readPushError({ channel: 'error', data: 'any words', error: STRUCTURE });
  assert.deepEqual(read, STRUCTURE);
  assert.equal(describePushError(STRUCTURE), 'rate_limited: the budget is spent');
});

test('a text without a structure is shown, for the subscription that ends the text', () => {
  const frame = { method: 'subscribe', subscription: SUBSCRIPTION };
  const texts = [`Refused: ${json(SUBSCRIPTION)}`, `Refused: ${json(frame)}`];
  for (const data of texts) {
    const error = readPushError({ channel: 'error', data });
    assert.deepEqual(error, { code: '', message: 'Refused:', subscription: SUBSCRIPTION });
  }
  for (const data of ['Too many subscriptions', 'Cut off: {"method":']) {
    assert.equal(readPushError({ channel: 'error', data })?.subscription, undefined);
  }
  const plain = readPushError({ channel: 'error', data: 'Too many subscriptions' });
  assert.equal(plain && describePushError(plain), 'Too many subscriptions');
});

test('only an error of the method says that a subscription is open already', () => {
  assert.equal(isAlreadySubscribed(ALREADY), true);
  assert.equal(isAlreadySubscribed({ ...ALREADY, field: 'user' }), false);
  assert.equal(isAlreadySubscribed({ ...ALREADY, method: 'unsubscribe' }), false);
  assert.equal(isAlreadySubscribed(STRUCTURE), false);
});

test('other messages are not errors', () => {
  assert.equal(readPushError({ channel: 'pong' }), undefined);
});
