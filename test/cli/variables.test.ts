/** Environment variables that nothing reads: misspelt ones, and those that a cluster sets. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ALL_DECLARATIONS, ALL_SETTINGS } from '../../src/cli/all-settings.ts';
import { readSettings } from '../../src/config/read-settings.ts';
import { listSettingWarnings } from '../../src/config/setting-warnings.ts';
import { findUnknownVariables } from '../../src/config/unknown-variables.ts';
import { ADMIN_SETTINGS, LISTEN_SETTINGS } from '../../src/service/settings.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { done, run } from '../../tools/harness/program.ts';

const MISSPELT: [name: string, meant: string | undefined][] = [
  ['PERPINFO_FOLOW', 'PERPINFO_FOLLOW'],
  ['PERPINFO_WORKRES', 'PERPINFO_WORKERS'],
  ['PERPINFO_PROT', 'PERPINFO_PORT'],
  ['PERPINFO_DATA_DIR', undefined],
  ['PERPINFO_NATS_CRED', 'PERPINFO_NATS_CREDS'],
  ['PERPINFO_UPSTREAM_HEADERS_FILE', 'PERPINFO_UPSTREAM_HEADER_FILE'],
  ['PERPINFO_max_age', 'PERPINFO_MAX_AGE'],
  ['PERPINFO_X', undefined],
  ['PERPINFO_', undefined],
  [`PERPINFO_${'X'.repeat(10_000)}`, undefined],
];

for (const [name, meant] of MISSPELT) {
  test(`${name.slice(0, 40)} is a warning${meant === undefined ? '' : ` that names ${meant}`}`, () => {
    const [warning, ...others] = findUnknownVariables(ALL_SETTINGS, {
      [name]: 'a-secret',
      PATH: '/bin',
    });
    assert.deepEqual(others, []);
    const asked = /did you mean (\w+)\?$/.exec(warning)?.[1];
    assert.equal(asked, meant);
    assert.ok(!warning.includes('a-secret') && warning.length < 200, warning);
  });
}

/** As Kubernetes sets them for services named perpinfo, perpinfo-admin and perpinfo-follower. */
const INJECTED = {
  PERPINFO_SERVICE_HOST: '10.0.0.1',
  PERPINFO_SERVICE_PORT: '8080',
  PERPINFO_SERVICE_PORT_HTTP: '8080',
  PERPINFO_PORT: 'tcp://10.0.0.1:8080',
  PERPINFO_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
  PERPINFO_PORT_8080_TCP_PROTO: 'tcp',
  PERPINFO_PORT_8080_TCP_PORT: '8080',
  PERPINFO_PORT_8080_TCP_ADDR: '10.0.0.1',
  PERPINFO_ADMIN_SERVICE_HOST: '10.0.0.2',
  PERPINFO_ADMIN_PORT: 'tcp://10.0.0.2:9464',
  PERPINFO_FOLLOWER_PORT_53_UDP: 'udp://10.0.0.3:53',
  PERPINFO_FOLLOWER_PORT: 'udp://10.0.0.3:53',
};

const PORT = { port: LISTEN_SETTINGS.port };

test('what a cluster sets is passed over in silence, also in place of a port', () => {
  assert.deepEqual(findUnknownVariables(ALL_SETTINGS, INJECTED), []);
  const { port, adminPort } = readSettings({ ...PORT, ...ADMIN_SETTINGS }, new Map(), INJECTED);
  assert.deepEqual([port, adminPort], [8080, 9464]);
  const chosen = readSettings(PORT, new Map(), { ...INJECTED, PERPINFO_PORT: '81' });
  assert.equal(chosen.port, 81);
  assert.throws(() => readSettings(PORT, new Map(), { PERPINFO_PORT: 'http://host' }));
});

test('a command runs in a cluster without a word, and with a misspelt variable with one', async () => {
  const simulate = ['simulate', '--blocks', '1', '--accounts', '10'];
  const { stdout } = await run(simulate);
  assert.deepEqual(await run(simulate, { variables: INJECTED }), done(stdout));
  const warning = 'the variable PERPINFO_SEDE is ignored, because no setting has this name';
  assert.deepEqual(
    await run(simulate, { variables: { PERPINFO_SEDE: '2' } }),
    done(stdout, `perpinfo: warning: ${warning}: did you mean PERPINFO_SEED?\n`),
  );
});

test('a variable for NATS is a warning where the ledger is in a folder', () => {
  const variables = { PERPINFO_NATS_CREDS: 'file' };
  const advise = (values: object) =>
    listSettingWarnings(ALL_DECLARATIONS, { natsCreds: 'file', ...values }, new Map(), variables);
  const ignored =
    'the variable PERPINFO_NATS_CREDS is ignored: the ledger is in a folder, not on NATS';
  assert.deepEqual(advise({ data: 'd', ledger: undefined }), [ignored]);
  assert.deepEqual(advise({ from: { data: 'a' }, to: { data: 'b' } }), [ignored]);
  assert.deepEqual(advise({ ledger: {} }), []);
  assert.deepEqual(advise({ from: { data: 'a' }, to: { data: '', ledger: {} } }), []);
});

test('a variable for a part that the service has not is a warning, also one that names a file', () => {
  const variables = {
    PERPINFO_KEEP_DAYS: '5',
    PERPINFO_UPSTREAM_HEADER_FILE: 'file',
    PERPINFO_ARCHIVE_DAYS: '5',
  };
  const given = { keepDays: 5, upstreamHeader: {}, archiveDays: 5 };
  const advise = (values: object) =>
    listSettingWarnings(ALL_DECLARATIONS, { ...given, ...values }, new Map(), variables);
  const none = { feed: undefined, follow: undefined, archive: false };
  const unfollowed =
    'the variable PERPINFO_UPSTREAM_HEADER_FILE is ignored: this service follows no exchange, without --follow';
  const unarchived =
    'the variable PERPINFO_ARCHIVE_DAYS is ignored: this service writes no archive, without --archive';
  assert.deepEqual(advise(none), [
    'the variable PERPINFO_KEEP_DAYS is ignored: this service writes no blocks, without --feed and --follow',
    unfollowed,
    unarchived,
  ]);
  assert.deepEqual(advise({ ...none, feed: '-' }), [unfollowed, unarchived]);
  assert.deepEqual(advise({ ...none, follow: {}, archive: true }), []);
  // Commands that always have the part.
  assert.deepEqual(advise({}), []);
});

test('the tests read no variable of their own that has the prefix of the settings', () => {
  const known = ALL_SETTINGS.map(({ variable }) => variable);
  const files = readdirSync(path.join(PROJECT, 'test'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(path.join(PROJECT, 'test', file), 'utf8');
    for (const [, name] of text.matchAll(/process\.env\['(PERPINFO_\w+)'\]/g)) {
      assert.ok(known.includes(name), `${file}: ${name}`);
    }
  }
});
