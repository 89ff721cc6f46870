/** Archives that are not of the ledger of their folder: nobody answers from them. */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { test } from 'node:test';
import { ArchiveLink } from '../../src/archive/reading/archive-link.ts';
import { archiveFolder } from '../../src/archive/records/archive-tables.ts';
import { readArchivedHeight } from '../../src/archive/records/archived-height.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { type ChainPoint, type Ledger, LedgerError } from '../../src/ledger/ledger.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createPlaces, joinLines, run, succeed } from '../../tools/harness/program.ts';
import { createKey, makeLedger, startService, until } from '../../tools/harness/running.ts';
import { archiveOnce } from './archived.ts';

const place = createPlaces();
const SHARED = 30;
const BLOCKS = 60;

const simulator = createSimulator({ seed: 'shared', accounts: 10 });
const lines = Array.from({ length: BLOCKS }, () => simulator.next());
const user = formatAddress(simulator.state.addresses.addressOf(1));
/** The first blocks are the same, and with them the ledger's name; the others have another time. */
const otherWay = lines.map((line, index) => (index < SHARED ? line : delay(line)));

function delay(line: string): string {
  const { time, ...block } = JSON.parse(line);
  return JSON.stringify({ ...block, time: time + 1 });
}

/** A folder with the ledger of some lines, and the archive of another. */
async function mix(own: readonly string[], archived: readonly string[]): Promise<string> {
  const [data, from] = [await makeLedger(place(), own), await makeLedger(place(), archived)];
  await archiveOnce(from);
  cpSync(archiveFolder(from), archiveFolder(data), { recursive: true });
  return data;
}

const HISTORY = ['--user', user, '--step', '1h'];

async function archivedHeight(data: string): Promise<number | undefined> {
  const ledger = await openEmbeddedLedger(data);
  try {
    return await readArchivedHeight(data, ledger);
  } finally {
    await ledger.close();
  }
}

test('an archive of a ledger that went another way is not answered from', async (context) => {
  const data = await mix(otherWay, lines);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(BLOCKS);
  const client = service.connect();
  for (const atHeight of [SHARED - 1, BLOCKS - 1]) {
    const { status, body } = await client.ask(secret, { type: 'delegations', user, atHeight });
    assert.deepEqual([status, JSON.parse(body).error], [503, 'not_ready'], body);
  }
  const health = await until('the comparison', async () => {
    const answer = await client.send({ path: '/health' });
    return answer.body.includes('another one') && answer;
  });
  const { archive, archiveFault } = JSON.parse(health.body);
  assert.deepEqual([health.status, archive], [200, undefined]);
  assert.equal(
    archiveFault,
    `the archive cannot be read: it is not of this ledger: its block ${BLOCKS} is another one`,
  );
});

test('nobody reads an archive of a ledger that went another way, and nothing is pruned for it', async () => {
  const data = await mix(otherWay, lines);
  const commands = [
    ['history', '--data', data, ...HISTORY],
    ['verify', '--data', data],
    ['archive', '--data', data, '--once'],
  ];
  for (const command of commands) {
    const { code, stderr } = await run(command);
    assert.equal(code, 1, command[0]);
    assert.match(stderr, /not of this ledger: its block 60 is another one; delete \S+archive to/);
  }
  assert.equal(await archivedHeight(data), 0);
});

test('an archive that is ahead of its ledger is answered from once the ledger is there', async (context) => {
  const data = await mix(lines.slice(0, SHARED), lines);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(SHARED);
  const client = service.connect();
  const ask = () => client.ask(secret, { type: 'delegations', user, atHeight: SHARED - 1 });
  await until('the comparison', async () => (await ask()).body.includes('has not reached'));
  const printed = await run(['history', '--data', data, ...HISTORY]);
  assert.deepEqual([printed.code, printed.stdout], [1, '']);
  const input = joinLines(lines.slice(SHARED));
  await run(['append', '--data', data, '--ahead-max', '0'], { input });
  const answer = await until('the archive', async () => {
    const { status, headers } = await ask();
    return status === 200 && headers;
  });
  assert.equal(answer['ledger-height'], String(SHARED - 1));
  assert.equal(await archivedHeight(data), BLOCKS);
});

test('where the block was pruned the names of the ledgers are compared', async () => {
  const foreign = createSimulator({ seed: 'foreign', accounts: 10 });
  const others = Array.from({ length: SHARED }, () => foreign.next());
  const data = await mix([], others);
  const snapshots = ['--snapshot-every', '10', '--snapshot-keep', '2'];
  await run(['append', '--data', data, ...snapshots], { input: joinLines(lines) });
  await succeed(['prune', '--data', data, '--keep-blocks', '10']);
  for (const command of [['history', ...HISTORY], ['verify'], ['archive', '--once']]) {
    const { code, stderr } = await run([...command, '--data', data]);
    assert.equal(code, 1, command[0]);
    assert.match(stderr, /not of this ledger: it is of ledger [\w-]+, this one is [\w-]+; delete/);
  }
});

test('history is read from an archive in a folder without a ledger', async () => {
  const from = await makeLedger(place(), lines);
  await archiveOnce(from);
  const data = place();
  mkdirSync(data);
  cpSync(archiveFolder(from), archiveFolder(data), { recursive: true });
  const { code, stdout } = await run(['history', '--data', data, ...HISTORY]);
  assert.equal(code, 0);
  assert.deepEqual(stdout, (await run(['history', '--data', from, ...HISTORY])).stdout);
});

test('a ledger that cannot be read, or is read a moment late, does not take its archive away', async () => {
  const data = await makeLedger(place(), lines.slice(0, SHARED));
  await archiveOnce(data);
  const ledger = await openEmbeddedLedger(data);
  let readPoint = (height: number) => ledger.point(height);
  let looks = 0;
  const watched: Pick<Ledger, 'base' | 'point'> = {
    base: () => ledger.base(),
    point(height: number) {
      looks++;
      return readPoint(height);
    },
  };
  const options = { ledger: watched as Ledger, isKept: true, warn: () => undefined };
  const link = new ArchiveLink(data, options);
  const afterLooks = async (count: number) => {
    const seen = looks;
    await until('a look', () => looks >= seen + count);
  };
  const grow = async (from: number, to: number) => {
    const input = joinLines(lines.slice(from, to));
    await run(['append', '--data', data, '--ahead-max', '0'], { input });
    await run(['archive', '--data', data, '--once']);
  };
  try {
    await until('the archive', () => isAnswered(link));
    readPoint = () => Promise.reject(new LedgerError('unavailable', 'NATS is gone'));
    await grow(SHARED, 40);
    await afterLooks(3);
    assert.ok(isAnswered(link));
    const late = async (): Promise<ChainPoint | undefined> => undefined;
    readPoint = () => {
      readPoint = (height) => ledger.point(height);
      return late();
    };
    await afterLooks(2);
    assert.ok(isAnswered(link));
    readPoint = late;
    await grow(40, 50);
    await until('the refusal', () => !isAnswered(link));
    assert.throws(() => link.find(), /which the ledger has not reached/);
  } finally {
    await link.close();
    await ledger.close();
  }
});

function isAnswered(link: ArchiveLink): boolean {
  try {
    return link.find() !== undefined;
  } catch {
    return false;
  }
}
