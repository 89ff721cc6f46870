import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ALL_DECLARATIONS } from '../../src/cli/all-settings.ts';
import { loadAllCommands } from '../../src/cli/commands.ts';
import type { Declarations } from '../../src/config/setting.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { askedWrongly, createPlaces, done, failed, run } from '../../tools/harness/program.ts';
import { ALSO_LONG, LONG_ONLY, scale } from '../scale.ts';

const place = createPlaces();

const COMMANDS = [
  ...['demo', 'serve', 'follow', 'append', 'query', 'history', 'archive'],
  ...['compare', 'probe'],
  ...['keys create', 'keys list', 'keys revoke', 'verify'],
  ...['snapshot', 'backup', 'restore', 'prune', 'copy', 'simulate'],
];

const NATS: [flag: string, rest: string][] = [
  ['--nats-replicas N', '(PERPINFO_NATS_REPLICAS; default 1)'],
  ['--nats-creds FILE', '(PERPINFO_NATS_CREDS)'],
  ['--nats-ca FILE', '(PERPINFO_NATS_CA)'],
];
const DATA: [flag: string, rest: string] = [
  '--data DIR',
  '(PERPINFO_DATA; required without --ledger)',
];
const LEDGER: [flag: string, rest: string][] = [
  ['--ledger URL', '(default: the folder) (PERPINFO_LEDGER)'],
  ['--ledger-file FILE', '(PERPINFO_LEDGER_FILE)'],
  ...NATS,
];
const LEDGER_WRITER: [flag: string, rest: string][] = [
  ['--accept-loss', '(PERPINFO_ACCEPT_LOSS; default false)'],
];
const UPSTREAM: [flag: string, rest: string][] = [
  ['--upstream URL', '(PERPINFO_UPSTREAM; required)'],
  ['--upstream-file FILE', '(PERPINFO_UPSTREAM_FILE)'],
];
const UPSTREAM_HEADER: [flag: string, rest: string][] = [
  ['--upstream-header HEADER', '(PERPINFO_UPSTREAM_HEADER)'],
  ['--upstream-header-file FILE', '(PERPINFO_UPSTREAM_HEADER_FILE)'],
];

/** The settings in the help of each command: flag, variable, default. */
const SETTINGS: Record<string, [flag: string, rest: string][]> = {
  append: [
    DATA,
    ['--snapshot-every N', '(PERPINFO_SNAPSHOT_EVERY; default 10000)'],
    ['--snapshot-keep N', '(PERPINFO_SNAPSHOT_KEEP; default 10)'],
    ['--keep-blocks N', '(default: keep all) (PERPINFO_KEEP_BLOCKS)'],
    ['--keep-days N', '(default: keep all; a follower keeps 7 days) (PERPINFO_KEEP_DAYS)'],
    ['--block-bytes-max BYTES', '(PERPINFO_BLOCK_BYTES_MAX; default 1048576)'],
    ['--ahead-max MS', '(PERPINFO_AHEAD_MAX; default 300000)'],
    ...LEDGER,
    ...LEDGER_WRITER,
  ],
  query: [DATA, ['--at HEIGHT', '(default: the newest) (PERPINFO_AT)'], ...LEDGER],
  probe: [
    ...UPSTREAM,
    ['--user ADDRESS', '(default: nobody) (PERPINFO_USER)'],
    ['--time TIME', '(PERPINFO_PROBE_TIME; default 600000)'],
    ['--json FILE', '(PERPINFO_PROBE_JSON)'],
    ['--show-user', '(PERPINFO_SHOW_USER; default false)'],
    ...UPSTREAM_HEADER,
  ],
  compare: [
    ...UPSTREAM,
    ['--user ADDRESS', '(PERPINFO_USER; required)'],
    ['--dex TEXT', '(default: the first) (PERPINFO_DEX)'],
    ...UPSTREAM_HEADER,
  ],
  'keys list': [DATA, ...LEDGER],
  'keys revoke': [DATA, ...LEDGER],
  verify: [DATA, ...LEDGER],
  backup: [
    DATA,
    ['--to FILE', '(PERPINFO_BACKUP_TO; required)'],
    ['--without-keys', '(PERPINFO_WITHOUT_KEYS; default false)'],
    ...LEDGER,
  ],
  restore: [
    DATA,
    ['--from FILE', '(PERPINFO_BACKUP_FROM; required)'],
    ['--block-bytes-max BYTES', '(PERPINFO_BLOCK_BYTES_MAX; default 1048576)'],
  ],
  copy: [
    ['--from LEDGER', '(PERPINFO_FROM; required)'],
    ['--from-file FILE', '(PERPINFO_FROM_FILE)'],
    ['--to LEDGER', '(PERPINFO_TO; required)'],
    ['--to-file FILE', '(PERPINFO_TO_FILE)'],
    ['--until HEIGHT', '(default: all blocks) (PERPINFO_UNTIL)'],
    ...NATS,
    ...LEDGER_WRITER,
  ],
  simulate: [
    ['--blocks N', '(PERPINFO_BLOCKS; default 1000)'],
    ['--accounts N', '(PERPINFO_ACCOUNTS; default 1000)'],
    ['--seed TEXT', '(PERPINFO_SEED; default 1)'],
  ],
};

test('the help of serve shows first what most people need, and the rest under headings', async () => {
  const { stdout } = await run(['serve', '--help']);
  const parts = stdout.split(/\n\n(?=[A-Z][\w ]*:\n)/);
  const flagsOf = (part: string) =>
    [...part.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag]) => flag);
  const first = ['archive', 'data', 'feed', 'follow', 'follow-file', 'forward', 'help'];
  assert.deepEqual(flagsOf(parts[0]).sort(), [...first, 'host', 'port', 'workers']);
  assert.deepEqual(
    parts.slice(1).map((part) => part.slice(0, part.indexOf(':'))),
    [
      'Follow an exchange',
      'Freshness of answers',
      'Requests and connections',
      'Push',
      'Snapshots and retention',
      'Blocks from a feed',
      'Ledger on NATS',
      'Dashboard',
      'Operation',
    ],
  );
});

test('every setting of a command is on the configuration page', async () => {
  for (const { name, settings } of await loadAllCommands()) {
    for (const [setting, declaration] of Object.entries(settings)) {
      const all: Declarations = ALL_DECLARATIONS;
      assert.equal(all[setting], declaration, `${name}: ${setting}`);
    }
  }
});

test('without arguments, or when asked for help, every command is named', async () => {
  const overview = await run([]);
  for (const asked of ['--help', '-h', 'help']) assert.deepEqual(await run([asked]), overview);
  assert.equal(overview.code, 0);
  assert.equal(overview.stderr, '');
  const named = [...overview.stdout.matchAll(/^ {2}([a-z]+(?: [a-z]+)?) +[A-Z].*\.$/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(named, COMMANDS);
});

test('help COMMAND prints the help of a command or its subcommands', LONG_ONLY, async () => {
  assert.deepEqual(await run(['help', 'query']), await run(['query', '--help']));
  const keys = await run(['keys']);
  const helps = await Promise.all(
    ['create', 'list', 'revoke'].map((name) => run(['keys', name, '--help'])),
  );
  assert.deepEqual(keys, done(helps.map(({ stdout }) => stdout).join('\n')));
  assert.deepEqual(await run(['help', 'keys']), keys);
  assert.deepEqual(await run(['keys', 'help']), keys);
  assert.deepEqual(await run(['keys', 'help', 'list']), helps[1]);
  const { code, stderr } = await run(['help', 'nope']);
  assert.equal(code, 2);
  assert.match(stderr, /^perpinfo: got command "nope", expected one of /);
});

test('--version, -v and version tell the version of the package', async () => {
  const text = readFileSync(path.join(PROJECT, 'package.json'), 'utf8');
  for (const asked of ['--version', '-v', 'version']) {
    assert.deepEqual(await run([asked]), done(`${JSON.parse(text).version}\n`));
  }
});

for (const command of Object.keys(SETTINGS)) {
  test(`${command} --help names every setting, with its variable and default`, async () => {
    const { code, stdout, stderr } = await run([...command.split(' '), '--help']);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    assert.ok(stdout.startsWith(`perpinfo ${command} [flags]`));
    assert.match(stdout, new RegExp(`\nExample: .*perpinfo ${command}`));
    const shown = [...stdout.matchAll(/^ {2}(--\S+(?: [A-Z]+)?) +\S.*?(\(.*\))$/gm)];
    assert.deepEqual(
      shown.map(([, flag, rest]) => [flag, rest]),
      SETTINGS[command],
    );
  });
}

test('--help works even if other arguments are wrong', async () => {
  const help = await run(['append', '--help']);
  assert.deepEqual(await run(['append', '--nope', '--help', 'a', 'b']), help);
});

const ESCAPE =
  'its user or password has a character that must be escaped: % as %25, / as %2F, @ as %40';
const ADDRESS_FAULTS: [address: string, fault: string][] = [
  ['', 'its scheme is neither nats:// nor tls://'],
  ['host:4222/a', 'its scheme is neither nats:// nor tls://'],
  [' nats://host/a', 'it begins or ends with white space'],
  ['nats://user:secret@host:4222', 'it has no ledger name after the hosts'],
  ['nats://host/a.b', 'its ledger name is not 1 to 64 letters, digits, _ or -'],
  ['nats://host/a/b', 'its ledger name is not 1 to 64 letters, digits, _ or -'],
  ['nats://ho st:4222/a', 'it has white space in or next to a host'],
  ['nats:// /a', 'it has white space in or next to a host'],
  ['nats://host:4222, b:4222/a', 'it has white space in or next to a host'],
  ['nats:///a', 'it has no host, or an empty one'],
  ['nats://user:secret@/a', 'it has no host, or an empty one'],
  ['nats://a,,b/a', 'it has no host, or an empty one'],
  ['nats://ho?st/a', 'one of its hosts is neither a name nor an IP address'],
  ['nats://host:99999/a', 'one of its ports is not a whole number from 1 to 65535'],
  ['nats://host:0/a', 'one of its ports is not a whole number from 1 to 65535'],
  ['nats://host:port/a', 'one of its ports is not a whole number from 1 to 65535'],
  ['nats://user:sec@ret@host/a', ESCAPE],
  ['nats://user:sec/ret@host/a', ESCAPE],
  ['nats://user:sec%ret@host/a', ESCAPE],
];

const NO_WRITER = 'only with --feed or --follow, since this service writes no blocks without them';
const NO_FOLLOWER = 'only with --follow, since this service follows no exchange without it';

const WRONG: [args: string[], message: string][] = [
  [
    ['nope'],
    'got command "nope", expected one of demo, serve, follow, append, query, history, archive, compare, probe, keys create, keys list, keys revoke, verify, snapshot, backup, restore, prune, copy, simulate',
  ],
  [
    ['--nope'],
    'got command "--nope", expected one of demo, serve, follow, append, query, history, archive, compare, probe, keys create, keys list, keys revoke, verify, snapshot, backup, restore, prune, copy, simulate',
  ],
  [['append'], '--data DIR is required'],
  ...ADDRESS_FAULTS.map(([address, fault]): [string[], string] => [
    ['append', '--ledger', address],
    `--ledger: got a hidden value (${fault}), expected nats://[user:password@]host:port[,host:port...]/NAME`,
  ]),
  [
    ['copy', '--from', 'a', '--to', 'http://user:secret@host/a'],
    '--to: got a hidden value (its scheme is neither nats:// nor tls://), expected a folder, or nats://[user:password@]host:port[,host:port...]/NAME',
  ],
  [
    ['append', '--ledger', 'nats://host/a', '--nats-replicas', '2'],
    '--nats-replicas: got "2", expected 1 or 3',
  ],
  [['copy', '--from', 'a'], '--to LEDGER is required'],
  [
    ['verify', '--data', 'd', '--nats-creds', 'f'],
    '--nats-creds: only for a ledger on NATS, and none is named',
  ],
  [
    ['copy', '--from', 'a', '--to', 'b', '--nats-ca', 'f', '--nats-replicas', '1'],
    '--nats-replicas: only for a ledger on NATS, and none is named; ' +
      '--nats-ca: only for a ledger on NATS, and none is named',
  ],
  [
    ['archive', '--data', 'd', '--nats-replicas', '3'],
    '--nats-replicas: only for a ledger on NATS, and none is named',
  ],
  [
    ['serve', '--data', 'd', '--keep-blocks', '5', '--ahead-max=0'],
    `--ahead-max: ${NO_WRITER}; --keep-blocks: ${NO_WRITER}`,
  ],
  [
    ['serve', '--data', 'd', '--follow-budget', '500', '--upstream-header', 'X-A: b'],
    `--upstream-header: ${NO_FOLLOWER}; --follow-budget: ${NO_FOLLOWER}`,
  ],
  [['serve', '--data', 'd', '--accept-loss'], `--accept-loss: ${NO_WRITER}`],
  [
    ['serve', '--data', 'd', '--archive-days', '9'],
    '--archive-days: only with --archive, since this service writes no archive without it',
  ],
  [
    ['serve', '--port', '1', '--port', '2', '--archive', '--archive=false'],
    '--port: got "1" and "2", expected one value; ' +
      '--archive: got "true" and "false", expected one value; --data DIR is required',
  ],
  [
    ['verify', '--ledger', 'nats://user:secret@host/a', '--ledger', 'nats://host/b'],
    '--ledger: got a hidden value and a hidden value, expected one value',
  ],
  [
    ['append', '--data', 'd', '--keep-block', '5', '--snapshots-evrey', '5', '--workers', '2'],
    '--keep-block: unknown flag, did you mean --keep-blocks?; ' +
      '--snapshots-evrey: unknown flag, did you mean --snapshot-every?; --workers: unknown flag',
  ],
  [['query'], '--data DIR is required'],
  [['verify'], '--data DIR is required'],
  [['append', '--data'], '--data: got nothing, expected a non-empty text'],
  [['append', '--data='], '--data: got "", expected a non-empty text'],
  [['append', '--data', '--snapshot-every', '5'], '--data: got nothing, expected a non-empty text'],
  [['verify', '--data', 'd', '--at', '3'], '--at: unknown flag'],
  [
    ['verify', '--data', 'd', 'extra'],
    'unexpected argument "extra": verify takes no argument besides flags',
  ],
  [
    ['append', '--data', 'd', 'a', 'b'],
    'unexpected argument "b": append takes only one argument besides flags',
  ],
  [['query', '--data', 'd'], 'JSON is required: the question, an object with a type'],
  [
    ['query', '--data', 'd', '--at', '-1', '{}'],
    '--at: got "-1", expected a whole number from 0 to 9007199254740991',
  ],
  [
    ['query', '--data', 'd', '--at', '99999999999999999', '{}'],
    '--at: got "99999999999999999", expected a whole number from 0 to 9007199254740991',
  ],
  [
    ['append', '--data', 'd', '--block-bytes-max', '1023'],
    '--block-bytes-max: got "1023", expected a whole number from 1024 to 1073741824',
  ],
  [
    ['append', '--nope', '1', '--snapshot-every', '1e3', '--snapshot-keep=0'],
    '--nope: unknown flag; --data DIR is required; ' +
      '--snapshot-every: got "1e3", expected a whole number from 1 to 9007199254740991; ' +
      '--snapshot-keep: got "0", expected a whole number from 1 to 9007199254740991',
  ],
  [
    ['simulate', '--blocks', '0', '--accounts', '9', '--seed', ''],
    '--blocks: got "0", expected a whole number from 1 to 9007199254740991; ' +
      '--accounts: got "9", expected a whole number from 10 to 10000000; ' +
      '--seed: got "", expected a non-empty text',
  ],
];

/** Each takes a process: every third one in `npm test`, and the others in the long run. */
const SHARE = WRONG.filter((_, index) => scale(index % 3 === 0, index % 3 > 0, true));

for (const [args, message] of SHARE) {
  test(`perpinfo ${args.join(' ')} is refused in one line`, ALSO_LONG, async () => {
    assert.deepEqual(await run(args), askedWrongly(message));
  });
}

test('a value of any length or with line breaks is shown short and in one line', async () => {
  const shown = JSON.stringify(`\n${'x'.repeat(59)}`);
  assert.deepEqual(
    await run(['simulate', '--blocks', `\n${'x'.repeat(100_000)}`]),
    askedWrongly(`--blocks: got ${shown}, expected a whole number from 1 to 9007199254740991`),
  );
});

test('a flag of any length or with line breaks is shown short and in one line', async () => {
  const { code, stderr } = await run(['simulate', `--a\n${'x'.repeat(100_000)}`, '1']);
  assert.equal(code, 2);
  assert.match(stderr, /^perpinfo: --a.{1,100}: unknown flag\n$/);
});

test('a wrong setting creates no folder', async () => {
  const data = place();
  await run(['append', '--data', data, '--snapshot-every', 'x']);
  await run(['append', '--data', data, place('missing.ndjson')]);
  assert.equal(existsSync(data), false);
});

test('a file for NATS that cannot be read is named', async () => {
  for (const flag of ['--nats-creds', '--nats-ca']) {
    const file = place('missing');
    const args = ['verify', '--ledger', 'nats://127.0.0.1:1/a', flag, file];
    assert.deepEqual(
      await run(args),
      failed(
        `perpinfo: cannot read the file of ${flag}: ENOENT: no such file or directory, open '${file}'\n`,
      ),
    );
  }
});

const ON_A_LEDGER = [
  ['verify'],
  ['query', '{"type":"perpDeployAuctionStatus"}'],
  ['prune', '--keep-blocks', '5'],
];

for (const [command, ...rest] of ON_A_LEDGER) {
  test(`${command} names a folder without a ledger`, async () => {
    const data = place();
    assert.deepEqual(await run([command, '--data', data, ...rest]), failed(noLedgerIn(data)));
  });
}

function noLedgerIn(data: string): string {
  return `perpinfo: there is no ledger in ${data}: the commands append, follow and demo create one\n`;
}

test('a copy of a missing ledger creates no folder', async () => {
  const [from, to] = [place('typo'), place()];
  assert.deepEqual(await run(['copy', '--from', from, '--to', to]), failed(noLedgerIn(from)));
  assert.equal(existsSync(to), false);
});

test('an environment variable applies where no flag is given', async () => {
  const short = ['simulate', '--blocks', '2', '--accounts', '10'];
  const variables = { PERPINFO_BLOCKS: '2', PERPINFO_ACCOUNTS: '10' };
  assert.deepEqual(await run(['simulate'], { variables }), await run(short));
  const flagWins = await run(short, { variables: { ...variables, PERPINFO_BLOCKS: 'x' } });
  assert.deepEqual(flagWins, await run(short));
});

test('a wrong environment variable is named', async () => {
  assert.deepEqual(
    await run(['simulate'], { variables: { PERPINFO_BLOCKS: 'many', PERPINFO_SEED: '' } }),
    askedWrongly(
      'PERPINFO_BLOCKS: got "many", expected a whole number from 1 to 9007199254740991; ' +
        'PERPINFO_SEED: got "", expected a non-empty text',
    ),
  );
});

test('arguments after -- are not flags', async () => {
  const file = place('--missing');
  assert.deepEqual(
    await run(['append', '--data', place(), '--', file]),
    askedWrongly(`FILE: there is no file ${file}`),
  );
});
