/** What is secret in the address of an upstream, and how a text is shown without it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';

const ADDRESS = readUpstreamAddress(
  new URL('https://host/va%20ult-ke%25y/v1?apikey=QUERYSECRET99%2B1&plain=other-secret'),
  'Bearer HEADERSECRET',
);

for (const [name, text] of [
  ['part of the path as it was written', '/va%20ult-ke%25y/info'],
  ['part of the path, decoded', '/va ult-ke%y/info'],
  ['value of the query as it was written', 'apikey=QUERYSECRET99%2B1'],
  ['value of the query, decoded', 'apikey=QUERYSECRET99+1'],
  ['second value of the query', 'plain=other-secret'],
  ['header', 'X: Bearer HEADERSECRET'],
  ['header without its scheme', 'X: HEADERSECRET'],
] as const) {
  test(`a text is shown without the ${name}`, () => {
    const shown = ADDRESS.redact(`cannot ${text}!`);
    assert.doesNotMatch(shown, /ult|QUERYSECRET|other-secret|HEADERSECRET/);
    assert.match(shown, /^cannot .*\*\*\*.*!$/);
  });
}

test('short parts of a path are words that occur in any text', () => {
  assert.equal(ADDRESS.redact('info of v1'), 'info of v1');
});
