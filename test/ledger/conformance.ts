/**
 * What every ledger must do, whatever it is built on. A ledger's own test runs this suite with a
 * harness that opens it, and adds what only that ledger promises.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import {
  type ChainPoint,
  type Ledger,
  LedgerError,
  type LedgerFault,
  type LedgerWriter,
  type StoredBlock,
} from '../../src/ledger/ledger.ts';
import { chainLines, chainOfLength, collectBlocks, describeBlocks, heightsOf } from './chains.ts';

/** One ledger, empty when the harness is made. A writer is opened before the first reader. */
export interface LedgerHarness {
  openWriter(): Promise<LedgerWriter>;
  openReader(): Promise<Ledger>;
  /** Deletes the ledger, after everything is closed. */
  remove(): Promise<void>;
}

type Openers = Omit<LedgerHarness, 'remove'>;

/** More than a batch of any ledger, and not a multiple of one. */
const MANY_BLOCKS = 700;

/** Runs a test on an empty ledger, and closes whatever it opened. */
function ledgerTest(
  sentence: string,
  makeHarness: () => Promise<LedgerHarness>,
  body: (openers: Openers) => Promise<void>,
): void {
  test(sentence, { timeout: 20_000 }, async () => {
    const harness = await makeHarness();
    const opened: Ledger[] = [];
    const keep = <L extends Ledger>(ledger: L): L => {
      opened.push(ledger);
      return ledger;
    };
    try {
      await body({
        openWriter: async () => keep(await harness.openWriter()),
        openReader: async () => keep(await harness.openReader()),
      });
    } finally {
      for (const ledger of opened) await ledger.close();
      await harness.remove();
    }
  });
}

async function openWith(openers: Openers, blocks: readonly StoredBlock[]): Promise<LedgerWriter> {
  const writer = await openers.openWriter();
  await writer.append(blocks);
  return writer;
}

function pointOf({ height, hash }: ChainPoint): { height: number; hash: string } {
  return { height, hash: hash.toString('hex') };
}

async function assertPoint(actual: Promise<ChainPoint | undefined>, expected: ChainPoint) {
  const point = await actual;
  assert.ok(point !== undefined, `there is no point at height ${expected.height}`);
  assert.deepEqual(pointOf(point), pointOf(expected));
}

async function assertHolds(ledger: Ledger, blocks: readonly StoredBlock[]): Promise<void> {
  const stored = await collectBlocks(ledger.read(0));
  assert.deepEqual(describeBlocks(stored), describeBlocks(blocks));
}

async function assertRefused(work: Promise<unknown>, fault: LedgerFault, message: RegExp) {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof LedgerError, String(error));
    assert.equal(error.fault, fault);
    assert.match(error.message, message);
    return true;
  });
}

/** Follows until this many blocks have arrived. */
async function followUntil(ledger: Ledger, after: number, count: number): Promise<StoredBlock[]> {
  const controller = new AbortController();
  const blocks: StoredBlock[] = [];
  for await (const batch of ledger.follow(after, controller.signal)) {
    blocks.push(...batch);
    if (blocks.length >= count) controller.abort();
  }
  return blocks;
}

export function describeLedger(name: string, makeHarness: () => Promise<LedgerHarness>): void {
  const it = (sentence: string, body: (openers: Openers) => Promise<void>) =>
    ledgerTest(sentence, makeHarness, body);
  describe(`${name} as a ledger`, () => {
    describeStart(it);
    describeReading(it);
    describeAppending(it);
    describeFollowing(it);
    describeWriters(it);
    describePruning(it);
    describeStarting(it);
  });
}

type It = (sentence: string, body: (openers: Openers) => Promise<void>) => void;

function describeStart(it: It): void {
  it("an empty ledger's head and base are the chain's start", async (openers) => {
    const writer = await openers.openWriter();
    const reader = await openers.openReader();
    for (const ledger of [writer, reader]) {
      await assertPoint(ledger.base(), CHAIN_START);
      await assertPoint(ledger.head(), CHAIN_START);
      await assertPoint(ledger.point(0), CHAIN_START);
      assert.equal(await ledger.point(1), undefined);
      await assertHolds(ledger, []);
    }
  });

  it('the hash of a block is SHA-256 over the hash before it and the line', async (openers) => {
    const lines = ['{"height":1,"time":5,"events":[]}', '{"height":2,"time":6,"events":[]}\r'];
    await openWith(openers, chainLines(lines));
    const first = createHash('sha256')
      .update(`${'\0'.repeat(32)}${lines[0]}`)
      .digest();
    const second = createHash('sha256').update(first).update(lines[1]).digest('hex');
    assert.equal(
      first.toString('hex'),
      'efa002220fc4dd4d3e3f3dd4fe68231e5dc05b3b0b159412abd20accec72676f',
    );
    assert.equal(second, '133a0f7a7fe513652c6479028da4df0edd2901ded5bc6023c49020d27710d213');
    const reader = await openers.openReader();
    await assertPoint(reader.point(1), { height: 1, hash: first });
    await assertPoint(reader.head(), { height: 2, hash: Buffer.from(second, 'hex') });
  });
}

function describeReading(it: It): void {
  it('blocks read back byte for byte, with their hashes', async (openers) => {
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const blocks = chainLines([
      'a carriage return at the end\r',
      '\r\n a newline that a ledger need not understand \n\r',
      'Überfluß 永続 🜚',
      everyByte,
      '',
      'x',
      'y'.repeat(1 << 20),
    ]);
    await openWith(openers, blocks);
    const reader = await openers.openReader();
    await assertHolds(reader, blocks);
    const stored = await collectBlocks(reader.read(0));
    stored.forEach(({ line }, index) => {
      assert.ok(line.equals(blocks[index].line));
    });
  });

  it('blocks that were read stay as they are while others are read and written', async (openers) => {
    const blocks = chainOfLength(MANY_BLOCKS);
    const writer = await openWith(openers, blocks);
    const reader = await openers.openReader();
    const stored = await collectBlocks(reader.read(0));
    await writer.append(chainOfLength(MANY_BLOCKS, blocks[MANY_BLOCKS - 1]));
    await collectBlocks(reader.read(0));
    assert.deepEqual(describeBlocks(stored), describeBlocks(blocks));
  });

  it('a read starts after any height and ends at the head or where it is told to', async (openers) => {
    const blocks = chainOfLength(MANY_BLOCKS);
    await openWith(openers, blocks);
    const reader = await openers.openReader();
    for (const after of [0, 1, 255, 256, 257, 511, 512, 699, 700, 701, 5000]) {
      const rest = await collectBlocks(reader.read(after));
      assert.deepEqual(describeBlocks(rest), describeBlocks(blocks.slice(after)));
      for (const to of [0, after - 1, after, after + 1, after + 256, after + 257, 700, 9999]) {
        const some = await collectBlocks(reader.read(after, to));
        assert.deepEqual(heightsOf(some), heightsOf(blocks.slice(after, Math.max(to, 0))));
      }
    }
  });

  it('a read ends at what was there when it started', async (openers) => {
    const blocks = chainOfLength(MANY_BLOCKS);
    const writer = await openWith(openers, blocks);
    const reader = await openers.openReader();
    const read = reader.read(0)[Symbol.asyncIterator]();
    // Its first blocks show that it has started: a remote ledger may take a while.
    const first = await read.next();
    await writer.append(chainOfLength(1, blocks[MANY_BLOCKS - 1]));
    const rest = await collectBlocks({ [Symbol.asyncIterator]: () => read });
    assert.deepEqual(heightsOf([...first.value, ...rest]), heightsOf(blocks));
  });

  it('a point is known from the base to the head, and not outside', async (openers) => {
    const blocks = chainOfLength(3);
    await openWith(openers, blocks);
    const reader = await openers.openReader();
    await assertPoint(reader.point(0), CHAIN_START);
    for (const block of blocks) await assertPoint(reader.point(block.height), block);
    assert.equal(await reader.point(4), undefined);
    assert.equal(await reader.point(-1), undefined);
  });
}

function describeAppending(it: It): void {
  it('appends go on from each other, and an empty one changes nothing', async (openers) => {
    const blocks = chainOfLength(6);
    const writer = await openWith(openers, blocks.slice(0, 1));
    await writer.append(blocks.slice(1, 5));
    await writer.append([]);
    await writer.append(blocks.slice(5));
    await assertHolds(writer, blocks);
  });

  const refusals: [about: string, heights: number[], got: number, expected: number][] = [
    ['a gap before it', [5], 5, 4],
    ['a gap inside it', [4, 6], 6, 5],
    ['a height that is there', [3], 3, 4],
    ['a height twice', [4, 4], 4, 5],
    ['its heights out of order', [5, 4], 5, 4],
    ['a good start and a bad end', [4, 5, 6, 8], 8, 7],
  ];
  for (const [about, heights, got, expected] of refusals) {
    it(`an append with ${about} is refused and stores nothing`, async (openers) => {
      const blocks = chainOfLength(9);
      const writer = await openWith(openers, blocks.slice(0, 3));
      const wrong = heights.map((height) => blocks[height - 1]);
      const message = new RegExp(`^got block ${got}, expected block ${expected}$`);
      await assertRefused(writer.append(wrong), 'conflict', message);
      await assertHolds(writer, blocks.slice(0, 3));
      await writer.append(blocks.slice(3, 5));
      await assertHolds(writer, blocks.slice(0, 5));
    });
  }

  it('an append is visible to a reader that is already open once it is acknowledged', async (openers) => {
    const writer = await openers.openWriter();
    const reader = await openers.openReader();
    const blocks = chainOfLength(20);
    for (const block of blocks) {
      await writer.append([block]);
      await assertPoint(reader.head(), block);
      await assertPoint(reader.point(block.height), block);
      assert.deepEqual(heightsOf(await collectBlocks(reader.read(block.height - 1))), [
        block.height,
      ]);
    }
  });

  it('what was appended is there when the ledger is opened again', async (openers) => {
    const blocks = chainOfLength(5);
    const first = await openWith(openers, blocks.slice(0, 2));
    await first.close();
    const second = await openWith(openers, blocks.slice(2));
    await second.close();
    await assertHolds(await openers.openWriter(), blocks);
  });
}

function describeFollowing(it: It): void {
  it('following yields what was there, then what comes, in order and once', async (openers) => {
    const blocks = chainOfLength(MANY_BLOCKS + 300);
    const writer = await openWith(openers, blocks.slice(0, MANY_BLOCKS));
    const reader = await openers.openReader();
    const followed = followUntil(reader, 5, blocks.length - 5);
    for (let start = MANY_BLOCKS; start < blocks.length; start += 7) {
      await writer.append(blocks.slice(start, start + 7));
    }
    assert.deepEqual(describeBlocks(await followed), describeBlocks(blocks.slice(5)));
  });

  it('following from a height that is still to come yields only what is after it', async (openers) => {
    const writer = await openers.openWriter();
    const reader = await openers.openReader();
    const followed = followUntil(reader, 3, 2);
    for (const block of chainOfLength(5)) await writer.append([block]);
    assert.deepEqual(heightsOf(await followed), [4, 5]);
  });

  it('following ends at the signal, also while nothing comes', async (openers) => {
    const writer = await openWith(openers, chainOfLength(2));
    const controller = new AbortController();
    const seen: StoredBlock[] = [];
    for await (const batch of writer.follow(0, controller.signal)) {
      seen.push(...batch);
      if (seen.length === 2) setTimeout(() => controller.abort(), 60);
    }
    assert.deepEqual(heightsOf(seen), [1, 2]);
  });

  it('following with a signal that was given before yields nothing', async (openers) => {
    const writer = await openWith(openers, chainOfLength(2));
    assert.deepEqual(await collectBlocks(writer.follow(0, AbortSignal.abort())), []);
  });
}

function describeWriters(it: It): void {
  it('a second writer is refused by name while the first is open', async (openers) => {
    const blocks = chainOfLength(2);
    const first = await openWith(openers, blocks.slice(0, 1));
    const reason = new RegExp(`^another writer, process ${process.pid}, has this ledger open$`);
    await assertRefused(openers.openWriter(), 'busy', reason);
    await assertRefused(openers.openWriter(), 'busy', reason);
    await first.append(blocks.slice(1));
    await first.close();
    await assertHolds(await openers.openWriter(), blocks);
  });

  it('readers go on while one writer closes and the next one opens', async (openers) => {
    const blocks = chainOfLength(4);
    const first = await openWith(openers, blocks.slice(0, 2));
    const reader = await openers.openReader();
    await first.close();
    await assertHolds(reader, blocks.slice(0, 2));
    await openWith(openers, blocks.slice(2));
    await assertHolds(reader, blocks);
  });

  it('closing twice is the same as closing once', async (openers) => {
    const writer = await openers.openWriter();
    const reader = await openers.openReader();
    for (const ledger of [reader, reader, writer, writer]) await ledger.close();
    const next = await openers.openWriter();
    await writer.close();
    await assertRefused(openers.openWriter(), 'busy', /another writer/);
    await assertHolds(next, []);
  });
}

function describePruning(it: It): void {
  it('pruning keeps the point before the first block, and all after it', async (openers) => {
    const blocks = chainOfLength(MANY_BLOCKS);
    const writer = await openWith(openers, blocks);
    const reader = await openers.openReader();
    await writer.prune(500);
    for (const ledger of [writer, reader]) {
      await assertPoint(ledger.base(), blocks[499]);
      await assertPoint(ledger.point(500), blocks[499]);
      await assertPoint(ledger.point(501), blocks[500]);
      await assertPoint(ledger.head(), blocks[699]);
      for (const height of [0, 1, 499]) assert.equal(await ledger.point(height), undefined);
    }
    await writer.close();
    const next = await openWith(openers, chainOfLength(1, blocks[699]));
    await assertPoint(next.base(), blocks[499]);
    assert.equal((await next.head()).height, 701);
  });

  it('reading or following from below the base goes on from the base', async (openers) => {
    const blocks = chainOfLength(MANY_BLOCKS);
    const writer = await openWith(openers, blocks);
    await writer.prune(600);
    for (const after of [0, 1, 400, 599, 600]) {
      assert.deepEqual(heightsOf(await collectBlocks(writer.read(after))).at(0), 601);
      assert.equal((await collectBlocks(writer.read(after, 650))).length, 50);
      assert.deepEqual(await collectBlocks(writer.read(after, 600)), []);
      const followed = await followUntil(writer, after, 100);
      assert.deepEqual(describeBlocks(followed), describeBlocks(blocks.slice(600)));
    }
  });

  it('a ledger that was pruned to its head goes on from there', async (openers) => {
    const blocks = chainOfLength(5);
    const writer = await openWith(openers, blocks.slice(0, 3));
    await writer.prune(3);
    await assertPoint(writer.base(), blocks[2]);
    await assertPoint(writer.head(), blocks[2]);
    await assertHolds(writer, []);
    await writer.append(blocks.slice(3));
    await assertHolds(writer, blocks.slice(3));
  });

  it('pruning to the base changes nothing, and outside the ledger it is refused', async (openers) => {
    const blocks = chainOfLength(5);
    const writer = await openWith(openers, blocks);
    await writer.prune(0);
    await assertHolds(writer, blocks);
    await writer.prune(2);
    await writer.prune(2);
    for (const height of [0, 1, 6]) {
      await assertRefused(
        writer.prune(height),
        'missing',
        new RegExp(`no block ${height} to prune`),
      );
    }
    await assertPoint(writer.base(), blocks[1]);
    await assertHolds(writer, blocks.slice(2));
  });
}

function describeStarting(it: It): void {
  it('an empty ledger can start after any point, and its heights go on from there', async (openers) => {
    const blocks = chainOfLength(2000);
    const writer = await openers.openWriter();
    await writer.startAt(blocks[1233]);
    const reader = await openers.openReader();
    for (const ledger of [writer, reader]) {
      await assertPoint(ledger.base(), blocks[1233]);
      await assertPoint(ledger.head(), blocks[1233]);
      await assertHolds(ledger, []);
    }
    await assertRefused(writer.append(blocks.slice(0, 1)), 'conflict', /expected block 1235$/);
    await writer.append(blocks.slice(1234));
    await assertPoint(reader.base(), blocks[1233]);
    await assertHolds(reader, blocks.slice(1234));
    await writer.close();
    await assertPoint((await openers.openWriter()).head(), blocks[1999]);
  });

  it('a ledger that holds something cannot start anew', async (openers) => {
    const blocks = chainOfLength(3);
    const writer = await openWith(openers, blocks.slice(0, 2));
    await assertRefused(writer.startAt(blocks[2]), 'conflict', /not empty: it is at block 2$/);
    await assertHolds(writer, blocks.slice(0, 2));
  });
}
