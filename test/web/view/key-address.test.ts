/** The key, in whatever form it is pasted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readKey } from '../../../web/src/view/key-address.ts';

const ORIGIN = 'http://127.0.0.1:8080';
const KEY = 'qN3-x_7Zk';

test('a key is read out of every address that the service hands out', () => {
  for (const typed of [
    KEY,
    ` ${KEY}\n`,
    `${ORIGIN}/${KEY}`,
    `${ORIGIN}/${KEY}/`,
    `${ORIGIN}/${KEY}/info`,
    `${ORIGIN}/${KEY}//info`,
    `${ORIGIN}/${KEY}/info?type=meta`,
    `ws://127.0.0.1:8080/${KEY}/ws`,
    `${ORIGIN}/#key=${KEY}`,
    `${ORIGIN}/#key=${KEY}&users=0x12,0x34`,
    `127.0.0.1:8080/${KEY}/`,
    `/${KEY}/info`,
    `#key=${KEY}`,
    `export BASE=${ORIGIN}/${KEY}/`,
    `BASE="${ORIGIN}/${KEY}/"`,
    // The same service by another name of its machine.
    `http://localhost:8080/${KEY}/`,
    `http://[::1]:8080/${KEY}/`,
  ]) {
    assert.deepEqual(readKey(typed, ORIGIN), { key: KEY }, typed);
  }
  assert.deepEqual(readKey('/a%20b/info', ORIGIN), { key: 'a b' });
});

test('a key of another service is not used', () => {
  for (const [typed, other] of [
    [`https://other.example/${KEY}/info`, 'https://other.example'],
    [`http://127.0.0.1:9090/${KEY}/`, 'http://127.0.0.1:9090'],
    [`https://127.0.0.1:8080/${KEY}/`, 'https://127.0.0.1:8080'],
    [`http://other:8080/#key=${KEY}`, 'http://other:8080'],
    [`other.example/${KEY}`, 'http://other.example'],
    [`wss://other.example/${KEY}/ws`, 'https://other.example'],
  ]) {
    const problem =
      `This is an address of ${other}, and this page asks ${ORIGIN} only, so the key was not ` +
      `used. Open the page of ${other}, or enter a key of this service.`;
    assert.deepEqual(readKey(typed, ORIGIN), { problem }, typed);
  }
});

test('what holds no key is told from what is not an address', () => {
  const expected = `Expected a key, or an address such as ${ORIGIN}/KEY/info.`;
  const problems: [typed: string, problem: string][] = [
    ['', 'Enter a key first.'],
    ['  ', 'Enter a key first.'],
    ['two words', 'A key has no spaces in it.'],
    [`${ORIGIN}/`, `There is no key in this address. ${expected}`],
    [`${ORIGIN}/#user=0x12`, `There is no key in this address. ${expected}`],
    [`${ORIGIN}/health`, `There is no key in this address. ${expected}`],
    [`${ORIGIN}/info`, `There is no key in this address. ${expected}`],
    [`${ORIGIN}/a/b/c`, `There is no key in this address. ${expected}`],
    [`${ORIGIN}/%ff/info`, `There is no key in this address. ${expected}`],
    ['http://', `This is not an address. ${expected}`],
    ['ftp://host/KEY', `This is not an address. ${expected}`],
    ['http://a b/KEY', `This is not an address. ${expected}`],
  ];
  for (const [typed, problem] of problems) {
    assert.deepEqual(readKey(typed, ORIGIN), { problem }, typed);
  }
});
