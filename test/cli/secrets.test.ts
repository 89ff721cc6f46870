/** Addresses and headers that hold a secret: from a file, from a variable, and on the command line. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALL_DECLARATIONS } from '../../src/cli/all-settings.ts';
import { readSettings, splitArguments } from '../../src/config/read-settings.ts';
import { listSettingWarnings } from '../../src/config/setting-warnings.ts';
import { FOLLOW_CHOICE_SETTINGS, UPSTREAM_HEADER_SETTINGS } from '../../src/upstream/settings.ts';
import { createPlaces, run, start } from '../../tools/harness/program.ts';

const place = createPlaces();
const KEY = 'VENDOR-KEY';
const ADDRESS = `http://127.0.0.1:1/${KEY}`;

function write(text: string): string {
  const file = place('secret');
  writeFileSync(file, text);
  return file;
}

function read(
  name: keyof typeof ALL_DECLARATIONS,
  argv: readonly string[],
  variables = {},
): unknown {
  const declared = { [name]: ALL_DECLARATIONS[name] };
  return readSettings(declared, splitArguments(argv, declared).flags, variables)[name];
}

test('an address, a header and a ledger are read from files, named by a flag or a variable', () => {
  const expected = new URL(ADDRESS);
  assert.deepEqual(read('follow', ['--follow-file', write(`${ADDRESS}\n`)]), expected);
  assert.deepEqual(read('follow', [], { PERPINFO_FOLLOW_FILE: write(ADDRESS) }), expected);
  assert.deepEqual(read('upstream', ['--upstream-file', write(`${ADDRESS}\r\n\n`)]), expected);
  const header = write(`X-API-Key: ${KEY}\n`);
  assert.deepEqual(read('upstreamHeader', ['--upstream-header-file', header]), {
    name: 'X-API-Key',
    value: KEY,
  });
  const ledger = write('nats://user:secret@host/a');
  assert.deepEqual(read('ledger', ['--ledger-file', ledger]), {
    servers: ['host'],
    credentials: { user: 'user', pass: 'secret' },
    isEncrypted: false,
    name: 'a',
  });
  assert.equal(read('data', [], { PERPINFO_LEDGER_FILE: ledger }), '');
});

test('a flag wins against a variable, whether of a value or of a file', () => {
  const other = 'http://127.0.0.1:2/';
  const variables = { PERPINFO_FOLLOW: other };
  const byFile = read('follow', ['--follow-file', write(ADDRESS)], variables);
  assert.deepEqual(byFile, new URL(ADDRESS));
  const file = { PERPINFO_FOLLOW_FILE: place('missing') };
  assert.deepEqual(read('follow', ['--follow', other], file), new URL(other));
});

const REFUSED: [argv: string[], variables: Record<string, string>, message: RegExp][] = [
  [['--follow-file', '/nowhere'], {}, /^--follow-file: \/nowhere cannot be read \(ENOENT\)$/],
  [['--follow-file', '/proc'], {}, /^--follow-file: \/proc is not a file$/],
  [['--follow-file', write('\n')], {}, /^--follow-file: \S+ is empty$/],
  [['--follow-file', write('a\nb\n')], {}, /^--follow-file: \S+ has more than one line$/],
  [['--follow-file', write('x'.repeat(70_000))], {}, /^--follow-file: \S+ is larger than 65536 /],
  [
    ['--follow-file', write(`ftp://host/${KEY}`)],
    {},
    /^--follow-file: got a hidden value \(neither https:\/\/ nor http:\/\/\), expected an address /,
  ],
  [['--follow-file'], {}, /^--follow-file: got a hidden value|^--follow-file: got nothing, /],
  [
    ['--follow', ADDRESS, '--follow-file', write(ADDRESS)],
    {},
    /^--follow-file: --follow is given, too: give one of both$/,
  ],
  [
    [],
    { PERPINFO_FOLLOW: ADDRESS, PERPINFO_FOLLOW_FILE: write(ADDRESS) },
    /^PERPINFO_FOLLOW_FILE: PERPINFO_FOLLOW is given, too: give one of both$/,
  ],
];

for (const [argv, variables, message] of REFUSED) {
  test(`${message.source} is a refusal that shows no secret`, () => {
    assert.throws(
      () => read('follow', argv, variables),
      (error: Error) => message.test(error.message) && !error.message.includes(KEY),
    );
  });
}

test('a header in a file is refused where nothing is followed', () => {
  const declared = { ...FOLLOW_CHOICE_SETTINGS, ...UPSTREAM_HEADER_SETTINGS };
  const argv = ['--upstream-header-file', write('X-API-Key: a')];
  const { flags } = splitArguments(argv, declared);
  assert.throws(
    () => readSettings(declared, flags, {}),
    /--upstream-header-file: only with --follow, /,
  );
});

const EXPOSED: [name: keyof typeof ALL_DECLARATIONS, argv: string[], isSecret: boolean][] = [
  ['follow', ['--follow', ADDRESS], true],
  ['follow', [`--follow=http://host/info?key=${KEY}`], true],
  ['follow', ['--follow', 'http://host/info'], false],
  ['follow', ['--follow', 'http://host'], false],
  ['follow', ['--follow-file', write(ADDRESS)], false],
  ['upstream', ['--upstream', ADDRESS], true],
  ['upstreamHeader', ['--upstream-header', `X-API-Key: ${KEY}`], true],
  ['ledger', ['--ledger', `nats://user:${KEY}@host/a`], true],
  ['ledger', ['--ledger', `nats://${KEY}@host/a`], true],
  ['ledger', ['--ledger', 'nats://host/a'], false],
  ['from', ['--from', `tls://user:${KEY}@host/a`], true],
  ['to', ['--to', './data'], false],
];

for (const [name, argv, isSecret] of EXPOSED) {
  test(`${argv.join(' ')} is ${isSecret ? 'a' : 'no'} reason to warn`, () => {
    const declared = { [name]: ALL_DECLARATIONS[name] };
    const { flags } = splitArguments(argv, declared);
    const advice = listSettingWarnings(declared, { [name]: undefined }, flags, {});
    assert.equal(advice.length, isSecret ? 1 : 0);
    if (!isSecret) return;
    assert.match(
      advice[0],
      /^--[a-z-]+ holds a key or a password, .*-file FILE, or by the variable /,
    );
    assert.ok(!advice[0].includes(KEY), advice[0]);
  });
}

test('a key on the command line is used, with one warning; one from a file with none', async () => {
  const compare = ['compare', '--user', `0x${'0'.repeat(40)}`];
  const exposed = await run([...compare, '--upstream', ADDRESS]);
  assert.equal(exposed.stderr.match(/warning: --upstream holds a key/g)?.length, 1);
  const hidden = await run([...compare, '--upstream-file', write(ADDRESS)]);
  assert.doesNotMatch(hidden.stderr, /warning/);
  for (const { code, stderr } of [exposed, hidden]) {
    assert.equal(code, 1);
    assert.ok(!stderr.includes(KEY), stderr);
  }
});

test('a follower takes its address from a file, and shows the key to nobody', async () => {
  const flags = ['--data', place(), '--upstream-file', write(ADDRESS), '--log-format', 'json'];
  const follower = start(['follow', ...flags]);
  await follower.untilWritten('"msg":"following"');
  assert.ok(!readFileSync(`/proc/${follower.child.pid}/cmdline`, 'utf8').includes(KEY));
  follower.child.kill('SIGTERM');
  const { code, stdout, stderr } = await follower.ended;
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(!stdout.includes(KEY), stdout);
});
