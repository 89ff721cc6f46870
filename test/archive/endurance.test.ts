/** The archive while it is written, after kill -9, after pruning, after it was built again, and damaged. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openArchive } from '../../src/archive/reading/archive.ts';
import { ArchivedHistory } from '../../src/archive/reading/archived-history.ts';
import { archiveFolder, openArchiveFolder } from '../../src/archive/records/archive-tables.ts';
import { type Address, formatAddress, parseAddress } from '../../src/exact/address.ts';
import { findMomentHeight } from '../../src/info/archive/moment-height.ts';
import { listPoints } from '../../src/info/archive/time-range.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces, joinLines, run, start, succeed } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { LONG_ONLY, scale } from '../scale.ts';
import { archiveOnce, makeArchive, withArchive } from './archived.ts';
import { listBodies, Witness } from './witness.ts';

const place = createPlaces();
const BLOCKS = 600;
const ACCOUNTS = 30;
const KILLS = scale(2, 2, 40);
const QUESTIONS_PER_BLOCK = 5;

const simulator = createSimulator({ seed: `endurance ${SEED}`, accounts: ACCOUNTS });
const lines = Array.from({ length: BLOCKS }, () => simulator.next());
const users = listUsers(simulator);

function listUsers({ state }: Simulator): string[] {
  return Array.from({ length: ACCOUNTS }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
}

const bodies = listBodies({
  user: users,
  users: [users.slice(0, 5)],
  dex: simulator.state.markets.dexes.map(({ name }) => name),
  id: [3],
});
const witness = new Witness(`endurance ${SEED}`, bodies, QUESTIONS_PER_BLOCK);
witness.lookAtAll(lines);

/** How many answers were noted up to a height. */
function countUpTo(height: number): number {
  return height * QUESTIONS_PER_BLOCK;
}

/** Waits until the archive ends beyond a height. */
async function untilBeyond(data: string, height: number): Promise<void> {
  await until(`the archive to go beyond ${height}`, async () => {
    const archive = await openArchive(data);
    const last = archive?.range.head.height ?? 0;
    await archive?.close();
    return last > height;
  });
}

test(`an archiver that is killed again and again ${SEED_NOTE}`, LONG_ONLY, async (context) => {
  const data = place();
  await appendAll(data, lines.slice(0, 50), NO_SNAPSHOTS);
  const random = new Random(`kill ${SEED}`);
  // It lives as long as all kills take.
  const feeder = start(['append', '--data', data, '--ahead-max', '0'], {}, 300_000);
  const ends: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const program = start(['archive', '--data', data]);
    const share = (count: number) => 50 + Math.floor((count * (BLOCKS - 50)) / KILLS);
    feeder.child.stdin.write(joinLines(lines.slice(share(kill), share(kill + 1))));
    await untilBeyond(data, ends.at(-1) ?? 0);
    await sleep(random.below(1500));
    program.child.kill('SIGKILL');
    await program.ended;
    await withArchive(data, (history) => {
      ends.push(history.range().last);
      assert.equal(witness.compare(history), countUpTo(history.range().last));
    });
  }
  feeder.child.stdin.end();
  assert.equal((await feeder.ended).code, 0);
  await archiveOnce(data);
  const compared = await withArchive(data, (history) => witness.compare(history));
  assert.equal(compared, witness.count);
  const { stdout } = await succeed(['verify', '--data', data]);
  assert.match(stdout, new RegExp(`archive heights 1 to ${BLOCKS}\n$`));
  context.diagnostic(`ended at heights ${ends.join(' ')}; ${compared} answers compared`);
});

test('answers while the archive is written, and grows with the ledger', LONG_ONLY, async () => {
  const data = place();
  await appendAll(data, lines.slice(0, 100), NO_SNAPSHOTS);
  const archiver = start(['archive', '--data', data]);
  try {
    const feeder = start(['append', '--data', data, '--ahead-max', '0']);
    feeder.child.stdin.end(joinLines(lines.slice(100)));
    let compared = 0;
    let last = 0;
    while (last < BLOCKS) {
      const archive = await openArchive(data);
      if (archive === undefined) continue;
      const history = new ArchivedHistory(archive);
      last = archive.refresh().head.height;
      compared = witness.compare(history);
      assert.equal(compared, countUpTo(last));
      await archive.close();
      await sleep(50);
    }
    assert.equal((await feeder.ended).code, 0);
  } finally {
    archiver.child.kill('SIGTERM');
  }
  assert.equal((await archiver.ended).code, 0);
});

test('of two archivers the later one goes on, and the other ends', LONG_ONLY, async () => {
  const data = place();
  await appendAll(data, lines.slice(0, 50), NO_SNAPSHOTS);
  const first = start(['archive', '--data', data]);
  await untilBeyond(data, 0);
  const second = start(['archive', '--data', data]);
  try {
    const feeder = start(['append', '--data', data, '--ahead-max', '0']);
    for (let height = 51; (await isRunning(first)) && height <= BLOCKS; height++) {
      feeder.child.stdin.write(joinLines([lines[height - 1]]));
      await sleep(100);
    }
    feeder.child.stdin.end();
    const { code, stderr } = await first.ended;
    assert.equal(code, 3, stderr);
    assert.match(stderr, /another process has taken over the archive/);
    await feeder.ended;
    await untilBeyond(data, 50);
  } finally {
    second.child.kill('SIGTERM');
  }
  assert.equal((await second.ended).code, 0);
  await withArchive(data, (history) => {
    assert.equal(witness.compare(history), countUpTo(history.range().last));
  });
  assert.equal((await run(['verify', '--data', data])).code, 0);
});

async function isRunning({ ended }: { readonly ended: Promise<unknown> }): Promise<boolean> {
  return Promise.race([ended.then(() => false), sleep(0).then(() => true)]);
}

test('after the ledger was pruned the archive holds what the ledger does not', async () => {
  const data = await makeArchive(lines.slice(0, 400), { snapshotEvery: 50, snapshotKeep: 3 });
  const pruned = await run(['prune', '--data', data, '--keep-blocks', '50']);
  assert.match(pruned.stdout, /starts at block 3[05]1/);
  // Its snapshots reach back to where the archive ends.
  await appendAll(data, lines.slice(400), { snapshotEvery: 50, snapshotKeep: 5 });
  const warnings: string[] = [];
  await archiveOnce(data, { warn: (message) => warnings.push(message) });
  assert.match(warnings.join('\n'), /^heights 1 to 3[05]0 are in the archive alone: .* pruned$/);
  const compared = await withArchive(data, (history) => witness.compare(history));
  assert.equal(compared, witness.count);
  const { stderr } = await succeed(['verify', '--data', data]);
  assert.match(stderr, /heights 1 to 3[05]0 are in the archive alone/);
});

test('an archive of a pruned ledger begins with its oldest snapshot', async () => {
  const data = place();
  await appendAll(data, lines, { snapshotEvery: 50, snapshotKeep: 3 });
  await run(['prune', '--data', data, '--keep-blocks', '50']);
  await archiveOnce(data);
  await withArchive(data, (history) => {
    const { first, last } = history.range();
    assert.ok(first >= 500 && first <= 550, `begins at ${first}`);
    assert.equal(last, BLOCKS);
    assert.equal(witness.compare(history), countUpTo(BLOCKS) - countUpTo(first - 1));
  });
});

test('blocks that were pruned before they were archived are a gap, and said to be one', async () => {
  const data = await makeArchive(lines.slice(0, 300), { snapshotEvery: 50, snapshotKeep: 3 });
  await appendAll(data, lines.slice(300), { snapshotEvery: 50, snapshotKeep: 3 });
  await run(['prune', '--data', data, '--keep-blocks', '50']);
  const warnings: string[] = [];
  await archiveOnce(data, { warn: (message) => warnings.push(message) });
  assert.match(warnings.join(), /cannot be replayed from 300 on: a gap remains/);
  await withArchive(data, (history, { range }) => {
    const [[from, to]] = range.gaps;
    assert.equal(from, 301);
    assert.ok(to >= 499 && to < 550);
    assert.ok(!history.holds(from) && !history.holds(to) && history.holds(to + 1));
    const expected = countUpTo(300) + countUpTo(BLOCKS) - countUpTo(to);
    assert.equal(witness.compare(history), expected);
    // Between the two blocks around the gap others were, which nobody can tell about any more.
    const timeOf = (height: number) => JSON.parse(lines[height - 1]).time as number;
    const middle = timeOf(400);
    assert.throws(
      () => findMomentHeight({ time: middle }, history),
      (error) => error instanceof RequestError && error.code === 'unknown_height',
    );
    assert.equal(findMomentHeight({ time: timeOf(299) }, history), 299);
    const points = [...listPoints(history, { from: timeOf(290), to: timeOf(BLOCKS) }, 1000)];
    const inGap = points.filter(({ time }) => time >= timeOf(300) && time < timeOf(to + 1));
    assert.ok(inGap.length > 0 && inGap.every(({ height }) => height === undefined));
  });
});

test('an archiver that paused goes on from the archive where the blocks are left', async () => {
  for (const every of [1, 50]) {
    const data = await makeArchive(lines.slice(0, 300), { snapshotEvery: 50, snapshotKeep: 3 });
    const pruned = await run(['prune', '--data', data, '--keep-blocks', '250']);
    assert.match(pruned.stdout, /starts at block 51/);
    // The first time the oldest snapshot is of the very next block.
    const end = every === 1 ? 301 : BLOCKS;
    const snapshotKeep = every === 1 ? 1 : 3;
    await appendAll(data, lines.slice(300, end), { snapshotEvery: every, snapshotKeep });
    const warnings: string[] = [];
    await archiveOnce(data, { warn: (message) => warnings.push(message) });
    assert.doesNotMatch(warnings.join(), /gap/);
    await withArchive(data, (history, { range }) => {
      assert.deepEqual(range.gaps, []);
      assert.equal(witness.compare(history), countUpTo(end));
    });
    assert.equal((await run(['verify', '--data', data])).code, 0);
  }
});

test('who moves on through an archive sees what was archived meanwhile', LONG_ONLY, async () => {
  const data = await makeArchive(lines.slice(0, 300));
  await withArchive(data, async (history, archive) => {
    const open = (height: number) =>
      users.map((user) => {
        const past = history.at(height);
        past.load({ kind: 'account', user: parseAddress(user) as Address, dexIndex: 0 });
        return past;
      });
    const underWay = open(300);
    await appendAll(data, lines.slice(300), NO_SNAPSHOTS);
    // By another process: one that reads an archive cannot open it for writing as well.
    assert.equal((await run(['archive', '--data', data, '--once'])).code, 0);
    archive.refresh();
    for (const height of [301, 420, BLOCKS]) {
      const fresh = open(height);
      for (const [index, past] of underWay.entries()) {
        past.moveTo(height);
        const question = { type: 'clearinghouseState', user: users[index] };
        const expected = answerQuestion(fresh[index].state, question);
        assert.equal(answerQuestion(past.state, question), expected);
      }
    }
  });
});

test('an archive that was deleted is built again, to the same answers', LONG_ONLY, async () => {
  const data = place();
  await appendAll(data, lines, NO_SNAPSHOTS);
  for (let round = 0; round < 2; round++) {
    await archiveOnce(data);
    await withArchive(data, (history) => assert.equal(witness.compare(history), witness.count));
    rmSync(archiveFolder(data), { recursive: true });
  }
});

test('only the days that are asked for are kept, to the same answers', LONG_ONLY, async () => {
  const slow = createSimulator({ seed: 'days', accounts: ACCOUNTS, intervalMs: 600_000 });
  const days = Array.from({ length: 700 }, () => slow.next());
  const own = new Witness(
    'days',
    listBodies({ user: [...listUsers(slow)], users: [[]], dex: [''], id: [3] }),
    10,
  );
  own.lookAtAll(days);
  const data = place();
  await appendAll(data, days, NO_SNAPSHOTS);
  await archiveOnce(data, { days: 2 });
  await withArchive(data, (history, archive) => {
    const { first, firstTime, last, lastTime } = history.range();
    assert.ok(first > 256 && first < 450, `begins at ${first}`);
    assert.ok(lastTime - firstTime >= 2 * 86_400_000);
    assert.ok(lastTime - history.timeOf(first + 1) < 2 * 86_400_000);
    assert.equal(own.compare(history), (last - first + 1) * 10);
    assert.equal(history.heightAt(firstTime - 1), undefined);
    archive.checkRecords();
  });
});

test('a gap that is older than what is kept is forgotten with it', LONG_ONLY, async () => {
  const slow = createSimulator({ seed: 'gap', accounts: ACCOUNTS, intervalMs: 1_200_000 });
  const days = Array.from({ length: BLOCKS }, () => slow.next());
  const data = await makeArchive(days.slice(0, 300), { snapshotEvery: 50, snapshotKeep: 3 });
  await appendAll(data, days.slice(300), { snapshotEvery: 50, snapshotKeep: 3 });
  await run(['prune', '--data', data, '--keep-blocks', '50']);
  await archiveOnce(data, { days: 7 });
  await withArchive(data, (_history, { range }) => {
    assert.ok(range.first <= 300, 'the week began before the gap');
    assert.equal(range.gaps.length, 1);
  });
  await archiveOnce(data, { days: 1 });
  await withArchive(data, (history, { range }) => {
    assert.ok(range.first > 500, `begins at ${range.first}`);
    assert.deepEqual(range.gaps, []);
    assert.equal(history.range().text, `heights ${range.first} to ${BLOCKS}`);
  });
});

test('a damaged record is refused, never answered from', async () => {
  const data = await makeArchive(lines);
  const file = path.join(archiveFolder(data), 'data.mdb');
  const bytes = readFileSync(file);
  const random = new Random(`damage ${SEED}`);
  // Beyond the first pages, which describe the file: LMDB itself checks nothing there.
  for (let flip = 0; flip < 400; flip++)
    bytes[8 * 4096 + random.below(bytes.length - 8 * 4096)] ^= 1;
  writeFileSync(file, bytes);
  const { code, stderr } = await run(['verify', '--data', data]);
  assert.notEqual(code, 0);
  // Where the pages of the driver's own tree are damaged, it may end the process: that is noticed too.
  if (code !== null) assert.match(stderr, /the archive .*(?:damaged|has format)/);
});

test('an archive that is wrong about what it holds is refused by all who read it', async () => {
  const data = await makeArchive(lines.slice(0, 20));
  const folder = await openArchiveFolder(data, { readOnly: false });
  assert.ok(folder !== undefined);
  const { meta } = folder.tables;
  const record = Buffer.from(meta.get('range') ?? '');
  record[record.indexOf('"height":20') + '"height":2'.length] ^= 1; // 20 becomes 21
  await folder.transact(record.length, () => void meta.put('range', record));
  const user = `0x${'1'.repeat(40)}`;
  for (const command of [['verify'], ['archive', '--once'], ['history', '--user', user]]) {
    const { code, stderr } = await run([...command, '--data', data]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /the archive is damaged: the record of the heights .* delete .*archive/);
  }
  await folder.transact(0, () => void meta.remove('range'));
  await folder.close();
  const lost = await run(['verify', '--data', data]);
  assert.equal(lost.code, 1);
  assert.match(lost.stderr, /the archive in .* is not complete/);
  await archiveOnce(data);
  assert.equal((await run(['verify', '--data', data])).code, 0);
});

test('a listing without the records in which its markets were listed is noticed', async () => {
  const data = await makeArchive(lines);
  const folder = await openArchiveFolder(data, { readOnly: false });
  assert.ok(folder !== undefined);
  const { listings } = folder.tables;
  // The first blocks set the exchange up; the terms of some markets are changed later.
  const first = [...listings.getKeys()].filter((height) => height <= 100);
  await folder.transact(0, () => {
    for (const height of first) void listings.remove(height);
  });
  await folder.close();
  const { code, stderr } = await run(['verify', '--data', data]);
  assert.equal(code, 1);
  // The terms of a market may have changed later, or only the auction.
  assert.match(
    stderr,
    /the archive is damaged: the listing of height \d+ (has no market \d+|is \[\[)/,
  );
  assert.ok(stderr.length < 1000, `${stderr.length} characters`);
});

test('a record of any table that is damaged, or in the place of another, is noticed', async () => {
  const data = await makeArchive(lines.slice(0, 40));
  const folder = await openArchiveFolder(data, { readOnly: false });
  assert.ok(folder !== undefined);
  const { meta: _meta, ...tables } = folder.tables;
  for (const [name, named] of Object.entries(tables)) {
    const table = named as typeof tables.accounts;
    const [first, second] = table.getKeys({ limit: 2 });
    const [whole, other] = [first, second ?? first].map((key) => Buffer.from(table.get(key) ?? ''));
    const damaged = Buffer.from(whole);
    damaged[damaged.length - 1] ^= 1;
    const wrong = second === undefined ? [damaged] : [damaged, other];
    for (const record of wrong) {
      await folder.transact(record.length, () => void table.put(first, record));
      const checked = withArchive(data, (_history, archive) => archive.checkRecords());
      await assert.rejects(checked, /is damaged: its checksum is wrong/, name);
    }
    await folder.transact(whole.length, () => void table.put(first, whole));
  }
  await withArchive(data, (_history, archive) => archive.checkRecords());
  await folder.close();
});

test('verify notices that the newest record of any table is missing', LONG_ONLY, async () => {
  const data = await makeArchive(lines.slice(0, 40));
  const folder = await openArchiveFolder(data, { readOnly: false });
  assert.ok(folder !== undefined);
  const { meta: _meta, ...tables } = folder.tables;
  for (const [name, named] of Object.entries(tables)) {
    const table = named as typeof tables.accounts;
    const [last] = table.getKeys({ reverse: true, limit: 1 });
    assert.ok(last !== undefined, name);
    const record = Buffer.from(table.get(last) ?? '');
    await folder.transact(0, () => void table.remove(last));
    const { code, stderr } = await run(['verify', '--data', data]);
    assert.equal(code, 1, `${name}: ${stderr}`);
    assert.match(stderr, /the archive/, name);
    await folder.transact(record.length, () => void table.put(last, record));
  }
  await folder.close();
  await succeed(['verify', '--data', data]);
});
