/** `--explorer-url`: which links are taken, and what is said of the others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../src/config/read-settings.ts';
import { UsageError } from '../../src/config/usage-error.ts';
import { HTTP_SETTINGS } from '../../src/http/settings.ts';

const DECLARED = { explorerUrl: HTTP_SETTINGS.explorerUrl };
const read = (link: string) =>
  readSettings(DECLARED, new Map([['explorer-url', link]]), {}).explorerUrl;

test('a link names the address in its path, query or fragment, and is kept as it is', () => {
  for (const link of [
    'https://host/address/{address}',
    'http://127.0.0.1:8080/{address}/positions',
    'https://host/?of={address}&tab=perps',
    'https://host/#/account/{address}',
  ]) {
    assert.equal(read(link), link);
  }
  assert.equal(readSettings(DECLARED, new Map(), {}).explorerUrl, undefined);
});

test('any other link is refused, without a password that it may hold', () => {
  const faults: [link: string, fault: string][] = [
    ['', 'not an address'],
    ['host/{address}', 'not an address'],
    ['javascript:alert({address})', 'neither https:// nor http://'],
    ['ftp://host/{address}', 'neither https:// nor http://'],
    ['https://user:secret@host/{address}', 'with a user or password'],
    ['https://host/address/', 'without {address} in its path'],
    ['https://{address}.host/', 'without {address} in its path'],
  ];
  for (const [link, fault] of faults) {
    const expected = 'expected an address such as https://host/address/{address}';
    const message = `--explorer-url: got a hidden value (${fault}), ${expected}`;
    assert.throws(() => read(link), new UsageError([message]), link);
  }
});
