/** Damage is detected and named, and never leads to a wrong answer. */

import assert from 'node:assert/strict';
import { cp, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { type Ledger, LedgerError, type StoredBlock } from '../../src/ledger/ledger.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { Random } from '../../src/simulator/random.ts';
import {
  appendAll,
  NO_SNAPSHOTS,
  restoreDirectory,
  restoreFrom,
  type SnapshotPolicy,
  snapshotPath,
} from '../../tools/harness/data-directory.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { chainLines, collectBlocks } from '../ledger/chains.ts';
import { ALSO_FULL, ALSO_LONG, LONG_ONLY, scale } from '../scale.ts';
import {
  describePosition,
  flipBit,
  openRawBlocks,
  type RawBlocks,
  runVerify,
  type Verdict,
} from './damage.ts';
import { foldOutlooks, outlookOf, simulateLines } from './exchange.ts';
import { SMALL_LINES } from './small-ledger.ts';

const HEIGHT = SMALL_LINES.length;
const OUTLOOK = foldOutlooks(SMALL_LINES)[HEIGHT];
/** The block and the snapshot that are damaged: neither first nor last. */
const DAMAGED = 4;
const TWO_SNAPSHOTS: SnapshotPolicy = { snapshotEvery: 2 };

/** Whole numbers evenly spread from 0 to the limit. */
function spread(count: number, limit: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor((index * limit) / count));
}

async function makeDirectory(t: TestContext, policy = NO_SNAPSHOTS): Promise<string> {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, SMALL_LINES, policy);
  return folder;
}

interface OpenDirectory {
  readonly folder: string;
  readonly raw: RawBlocks;
  readonly ledger: Ledger;
}

async function openDirectory(t: TestContext, policy = NO_SNAPSHOTS): Promise<OpenDirectory> {
  const folder = await makeDirectory(t, policy);
  const raw = openRawBlocks(folder);
  const ledger = await openEmbeddedLedger(folder);
  t.after(async () => {
    await ledger.close();
    await raw.close();
  });
  return { folder, raw, ledger };
}

/** Restoring fails as corrupt, with this message. */
async function assertStops({ ledger, folder }: OpenDirectory, message: RegExp, about = '') {
  const restoring = restoreFrom(ledger, folder);
  await assert.rejects(
    restoring,
    (error) => {
      assert.ok(error instanceof LedgerError, `${about}: ${error}`);
      assert.equal(error.fault, 'corrupt');
      assert.match(error.message, message, about);
      return true;
    },
    about,
  );
}

function assertRefused({ code, output, complaint }: Verdict, reason: RegExp, about = ''): void {
  assert.match(complaint, reason, about);
  assert.equal(code, 1, about);
  assert.equal(output, '', about);
}

describe('a flipped bit in a stored block', ALSO_LONG, () => {
  test('stops a replica at that height, whichever byte it is in', LONG_ONLY, async (t) => {
    const open = await openDirectory(t);
    const value = open.raw.get(DAMAGED);
    for (let position = 0; position < value.length; position++) {
      open.raw.put(DAMAGED, flipBit(value, position));
      await assertStops(open, /^block 4 is damaged: /, describePosition(position));
    }
    open.raw.put(DAMAGED, value);
    const { replica } = await restoreFrom(open.ledger, open.folder);
    assert.deepEqual(outlookOf(replica.state), OUTLOOK);
  });

  test('is reported by verify with the height', ALSO_FULL, async (t) => {
    const folder = await makeDirectory(t, TWO_SNAPSHOTS);
    const raw = openRawBlocks(folder);
    t.after(() => raw.close());
    const value = raw.get(DAMAGED);
    for (const position of spread(scale(2, 15), value.length)) {
      raw.put(DAMAGED, flipBit(value, position));
      const about = describePosition(position);
      assertRefused(await runVerify(folder), /^perpinfo: block 4 is damaged: /, about);
    }
  });

  test('stops a replica that follows, with its state as it was before', async (t) => {
    const { raw, ledger, folder } = await openDirectory(t);
    const { replica } = await restoreFrom(ledger, folder, DAMAGED - 1);
    raw.put(DAMAGED, flipBit(raw.get(DAMAGED), 50));
    await assert.rejects(replica.follow(ledger, AbortSignal.timeout(5000)), {
      message: /^block 4 is damaged/,
    });
    assert.deepEqual(outlookOf(replica.state), foldOutlooks(SMALL_LINES)[DAMAGED - 1]);
  });

  test('in the hash at a snapshot costs the snapshot, then stops the replica', async (t) => {
    const { raw, ledger, folder } = await openDirectory(t, TWO_SNAPSHOTS);
    raw.put(HEIGHT, flipBit(raw.get(HEIGHT), 3));
    await assert.rejects(restoreFrom(ledger, folder), { message: /^block 6 is damaged/ });
  });
});

describe('a ledger that does not fit together', () => {
  test('a missing block is named', async (t) => {
    const open = await openDirectory(t);
    open.raw.remove(3);
    await assertStops(open, /^block 4 found where block 3 was expected$/);
    open.raw.remove(4);
    await assertStops(open, /^block 5 found where block 3 was expected$/);
    assertRefused(await runVerify(open.folder), /block 5 found where block 3 was expected/);
  });

  test('a missing last block is noticed', async (t) => {
    const open = await openDirectory(t);
    open.raw.remove(HEIGHT);
    const reason = /the ledger ends at block 5, but was written up to block 6/;
    await assertStops(open, reason);
    assertRefused(await runVerify(open.folder), reason);
  });

  test('a block that nobody appended is noticed', async (t) => {
    const open = await openDirectory(t);
    const [extra] = chainLines(['{}'], await open.ledger.head());
    open.raw.putBlock(extra);
    await assertStops(open, /^the ledger ends at block 7, but was written up to block 6$/);
  });

  test('swapped blocks are named', async (t) => {
    const open = await openDirectory(t);
    const [third, fourth] = [open.raw.get(3), open.raw.get(4)];
    open.raw.put(3, fourth);
    open.raw.put(4, third);
    await assertStops(open, /^block 3 is damaged: /);
    assertRefused(await runVerify(open.folder), /block 3 is damaged: /);
  });

  test('a block too short for a hash is named', async (t) => {
    const open = await openDirectory(t);
    open.raw.put(3, Buffer.alloc(31));
    await assertStops(open, /^block 3 is damaged: it holds 31 bytes$/);
  });

  const badLines: [about: string, line: string | Buffer, reason: RegExp][] = [
    ['is not JSON', 'nonsense', /nonsense/],
    ['is not UTF-8', Buffer.from([0xc3, 0x28]), /expected valid UTF-8/],
    ['has another height', SMALL_LINES[4], /expected 4, the next height/],
    ['goes back in time', '{"height":4,"time":1,"events":[]}', /the time of the block before/],
    [
      'names an unknown coin',
      SMALL_LINES[3].replace('xyz:GOLD', 'xyz:LEAD'),
      /event 1 \(fill\).*xyz:LEAD/,
    ],
  ];
  for (const [about, line, reason] of badLines) {
    test(`a well-chained block that ${about} is named`, async (t) => {
      const open = await openDirectory(t);
      const [, , third, ...rest]: StoredBlock[] = await collectBlocks(open.ledger.read(0));
      const lines = [line, ...rest.slice(1).map((block) => block.line)];
      for (const block of chainLines(lines, third)) open.raw.putBlock(block);
      const named = new RegExp(`stored block 4 does not apply: .*${reason.source}`);
      await assertStops(open, named);
      assertRefused(await runVerify(open.folder), named);
    });
  }
});

describe('a damaged snapshot', ALSO_LONG, () => {
  /** Loading fails; restoring warns, and starts from the snapshot before it. */
  async function assertCostsOnlyTime({ ledger, folder }: OpenDirectory, about: string) {
    await assert.rejects(new SnapshotFolder(folder).load(HEIGHT), about);
    const { replica, warnings, startHeight } = await restoreFrom(ledger, folder);
    assert.equal(warnings.length, 1, about);
    assert.match(warnings[0], /^the snapshot of height 6 is ignored: /, about);
    assert.equal(startHeight, 4, about);
    assert.equal(stateDigest(replica.state), OUTLOOK.digest, about);
  }

  test('with a flipped bit, whichever byte it is in, is not loaded', LONG_ONLY, async (t) => {
    const folder = await makeDirectory(t, TWO_SNAPSHOTS);
    const file = snapshotPath(folder, HEIGHT);
    const bytes = await readFile(file);
    const snapshots = new SnapshotFolder(folder);
    for (let position = 0; position < bytes.length; position++) {
      await writeFile(file, flipBit(bytes, position));
      await assert.rejects(snapshots.load(HEIGHT), `byte ${position}`);
    }
  });

  test('with a flipped bit costs time and nothing else', ALSO_FULL, async (t) => {
    const open = await openDirectory(t, TWO_SNAPSHOTS);
    const file = snapshotPath(open.folder, HEIGHT);
    const bytes = await readFile(file);
    for (const position of spread(scale(5, 300), bytes.length)) {
      await writeFile(file, flipBit(bytes, position));
      await assertCostsOnlyTime(open, `byte ${position}`);
    }
  });

  test('of any other length is not loaded', LONG_ONLY, async (t) => {
    const folder = await makeDirectory(t, TWO_SNAPSHOTS);
    const file = snapshotPath(folder, HEIGHT);
    const bytes = await readFile(file);
    const snapshots = new SnapshotFolder(folder);
    await writeFile(file, Buffer.concat([bytes, Buffer.alloc(1)]));
    await assert.rejects(snapshots.load(HEIGHT), 'one byte too many');
    for (let length = bytes.length - 1; length >= 0; length--) {
      await truncate(file, length);
      await assert.rejects(snapshots.load(HEIGHT), `${length} bytes of ${bytes.length}`);
    }
  });

  test('that is empty or cut in half costs time and nothing else', async (t) => {
    const open = await openDirectory(t, TWO_SNAPSHOTS);
    const file = snapshotPath(open.folder, HEIGHT);
    const { length } = await readFile(file);
    for (const left of [Math.floor(length / 2), 0]) {
      await truncate(file, left);
      await assertCostsOnlyTime(open, `${left} bytes of ${length}`);
    }
  });

  test('is reported by verify with its height, and the blocks are sound', ALSO_FULL, async (t) => {
    const folder = await makeDirectory(t, TWO_SNAPSHOTS);
    const sound = await runVerify(folder);
    assert.equal(sound.code, 0);
    const file = snapshotPath(folder, DAMAGED);
    const bytes = await readFile(file);
    for (const position of spread(scale(2, 10), bytes.length)) {
      await writeFile(file, flipBit(bytes, position));
      const { code, output, complaint } = await runVerify(folder);
      assert.equal(code, 1);
      assert.equal(output, sound.output);
      assert.match(complaint, /^perpinfo: the snapshot of height 4 is damaged: /);
      assert.match(
        complaint,
        /the blocks are valid, but the snapshots of height 4 are not: delete them/,
      );
    }
  });

  test('that is whole but wrong is reported by verify', async (t) => {
    const folder = await makeDirectory(t, TWO_SNAPSHOTS);
    const { replica: early } = await restoreDirectory(folder, DAMAGED - 1);
    const { replica } = await restoreDirectory(folder, DAMAGED);
    const wrong = { ...early.state, height: DAMAGED, time: replica.state.time };
    await new SnapshotFolder(folder).save(wrong, replica.point.hash);
    const { code, complaint } = await runVerify(folder);
    assert.equal(code, 1);
    assert.match(
      complaint,
      /the snapshot of height 4 is damaged: its state differs from the replayed one/,
    );
  });
});

describe('a flipped bit anywhere in the file of the database', ALSO_FULL, () => {
  const FLIPS = scale(3, 25);
  const BLOCKS = 150;

  function randomBits(count: number, byteCount: number): number[] {
    const random = new Random('flips');
    return Array.from({ length: count }, () => random.below(byteCount * 8));
  }

  async function verifyWithFlip(source: string, bit: number): Promise<Verdict> {
    const folder = path.join(source, `flip-${bit}`);
    await cp(path.join(source, 'ledger'), path.join(folder, 'ledger'), { recursive: true });
    const file = path.join(folder, 'ledger', 'data.mdb');
    const bytes = await readFile(file);
    bytes[bit >>> 3] ^= 1 << (bit & 7);
    await writeFile(file, bytes);
    return runVerify(folder);
  }

  test('is refused by verify, or does not change its output', ALSO_FULL, async (t) => {
    const folder = await makeTemporaryFolder(t);
    await appendAll(folder, simulateLines('flips', BLOCKS), NO_SNAPSHOTS);
    const sound = await runVerify(folder);
    const { length } = await readFile(path.join(folder, 'ledger', 'data.mdb'));
    const counts = { refused: 0, unaffected: 0, crashed: 0 };
    for (const bit of randomBits(FLIPS, length)) {
      const { code, output, complaint } = await verifyWithFlip(folder, bit);
      const about = `bit ${bit & 7} of byte ${bit >>> 3}: ${complaint}`;
      if (code === 0) assert.equal(output, sound.output, about);
      else assert.ok(code === 1 || code === null, about);
      counts[code === 0 ? 'unaffected' : code === 1 ? 'refused' : 'crashed']++;
    }
    t.diagnostic(JSON.stringify(counts));
    assert.ok(counts.refused > 0);
  });
});

describe('a database that LMDB must not be given', () => {
  /** Replaces the ledger's file; opening it must fail without crashing the process. */
  async function refuse(folder: string, bytes: Buffer, expected: RegExp): Promise<void> {
    await writeFile(path.join(folder, 'ledger', 'data.mdb'), bytes);
    await assert.rejects(openEmbeddedLedger(folder), expected);
    await assert.rejects(openEmbeddedLedgerWriter(folder), expected);
  }

  test('is refused with a message, whether it is another kind of file or truncated', async (t) => {
    const folder = await makeTemporaryFolder(t);
    await appendAll(folder, simulateLines('short', 30), NO_SNAPSHOTS);
    const sound = await readFile(path.join(folder, 'ledger', 'data.mdb'));
    await writeFile(path.join(folder, 'ledger', 'data.mdb'), '');
    await assert.rejects(openEmbeddedLedger(folder), /there is no ledger in/);
    await refuse(folder, Buffer.from('not a database'), /is damaged: it is not a database/);
    await refuse(folder, Buffer.alloc(sound.length), /is damaged: it is not a database/);
    for (const length of [sound.length - 1, sound.length >> 1, 8192]) {
      const expected = new RegExp(`has ${length} bytes, expected at least ${sound.length}`);
      await refuse(folder, sound.subarray(0, length), expected);
    }
    await writeFile(path.join(folder, 'ledger', 'data.mdb'), sound);
    await (await openEmbeddedLedger(folder)).close();
  });
});
