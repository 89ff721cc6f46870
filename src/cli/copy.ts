/** `perpinfo copy`: copies a ledger between a folder and NATS JetStream. */

import {
  CHAIN_START,
  type ChainPoint,
  checkLink,
  LedgerError,
  type LedgerWriter,
} from '../ledger/ledger.ts';
import { Replica, restoreReplica, stateDigest } from '../replica/replica.ts';
import { openStorage, openStorageWriter, type Storage } from '../replica/storage.ts';
import { createState } from '../state/state.ts';
import type { Call, Command } from './command.ts';
import { reportRestore } from './restore.ts';

const settings = [
  'from',
  'to',
  'until',
  'natsReplicas',
  'natsCreds',
  'natsCa',
  'ledgerRetry',
  'acceptLoss',
] as const;
type CopyCall = Call<(typeof settings)[number]>;

export const copy: Command<(typeof settings)[number]> = {
  name: 'copy',
  summary: 'Copies a ledger between a folder and NATS JetStream, either way.',
  settings,
  details:
    'Continues where an earlier copy ended. At the end the copy is read back: every hash is checked,\n' +
    'and the replayed state is compared with that of the original. Prints height, chain head and state\n' +
    'digest. Keys are not copied. The writer of the original must have stopped. With --until, blocks\n' +
    'after that height are not read, so they may be damaged.',
  example: 'perpinfo copy --from ./data --to nats://127.0.0.1:4222/exchange',
  async run(call) {
    const { from, to, until: _, ...nats } = call.settings;
    // Checked first, since opening the target creates it. Closed again, since LMDB needs the writer
    // to be opened first where both are one folder.
    await (await openStorage({ ...nats, ...from })).close();
    const target = await openStorageWriter({ ...nats, ...to });
    try {
      const source = await openStorage({ ...nats, ...from });
      try {
        await new LedgerCopy(source, target, call).run();
      } finally {
        await source.close();
      }
    } finally {
      await target.close();
    }
  },
};

class LedgerCopy {
  readonly #source: Storage;
  readonly #target: Storage<LedgerWriter>;
  readonly #call: CopyCall;

  constructor(source: Storage, target: Storage<LedgerWriter>, call: CopyCall) {
    this.#source = source;
    this.#target = target;
    this.#call = call;
  }

  async run(): Promise<void> {
    const { terminal } = this.#call;
    const original = await this.#restoreOriginal();
    const start = await this.#findStart(original.point);
    await this.#copyBlocks(start, original.point);
    const digest = stateDigest(original.state);
    await this.#compare(original.point, digest);
    const { height, hash } = original.point;
    if (height > 0) await this.#saveSnapshot(original);
    terminal.say(`copied ${height - start.height} blocks; the copy is the same as the original`);
    await terminal.write(`height ${height}\nhead   ${hash.toString('hex')}\ndigest ${digest}\n`);
  }

  #restoreOriginal(): Promise<Replica> {
    const { until: height } = this.#call.settings;
    return restoreReplica({ ...this.#source, height, ...reportRestore(this.#call) });
  }

  /** The head of the copy, which must be a block of the original. */
  async #findStart(end: ChainPoint): Promise<ChainPoint> {
    const [source, target] = [this.#source.ledger, this.#target.ledger];
    const base = await source.base();
    const head = await target.head();
    if (head.height === 0 && base.height > 0) {
      await target.startAt(base);
      return base;
    }
    const counterpart = head.height > end.height ? undefined : await source.point(head.height);
    if (counterpart?.hash.equals(head.hash)) return head;
    const message = `the ledger to copy to is at block ${head.height}, which is not a block of this one`;
    throw new LedgerError('conflict', message);
  }

  async #copyBlocks(start: ChainPoint, end: ChainPoint): Promise<void> {
    let previous = start;
    for await (const batch of this.#source.ledger.read(start.height, end.height)) {
      for (const block of batch) {
        checkLink(previous, block);
        previous = block;
      }
      await this.#target.ledger.append(batch);
      this.#report('copying', previous.height, end.height);
    }
    if (previous.height === end.height) return;
    throw new LedgerError('corrupt', `block ${previous.height + 1} is not in the ledger`);
  }

  /** Reads the whole copy back, and compares the replayed state. */
  async #compare(end: ChainPoint, digest: string): Promise<void> {
    const { ledger } = this.#target;
    const base = await ledger.base();
    const replica = await this.#replicaFrom(base);
    let previous = base;
    for await (const batch of ledger.read(base.height, end.height)) {
      for (const block of batch) {
        if (block.height > replica.point.height) replica.apply(block);
        else checkLink(previous, block);
        previous = block;
      }
      this.#report('reading the copy back', previous.height, end.height);
    }
    if (previous.hash.equals(end.hash) && stateDigest(replica.state) === digest) return;
    throw new LedgerError('corrupt', `the copy differs from the original at height ${end.height}`);
  }

  /** The state at the base: of a pruned ledger, that of the original's earliest usable snapshot. */
  async #replicaFrom(base: ChainPoint): Promise<Replica> {
    if (base.height === 0) return new Replica(createState(), CHAIN_START);
    const { snapshots } = this.#source;
    for (const height of snapshots.heights().filter((at) => at >= base.height)) {
      const loaded = await snapshots.load(height).catch(() => undefined);
      if (loaded !== undefined) return new Replica(loaded.state, loaded.point);
    }
    throw new LedgerError(
      'missing',
      `no snapshot of the original from ${base.height} on is usable`,
    );
  }

  /** A pruned copy cannot be replayed from its start, and another one need not be. */
  async #saveSnapshot({ state, point }: Replica): Promise<void> {
    const { snapshots, shared } = this.#target;
    await snapshots.save(state, point.hash);
    await shared?.publish(snapshots, point.height);
  }

  #report(what: string, height: number, target: number): void {
    this.#call.signal.throwIfAborted();
    this.#call.terminal.progress(() => {
      const percent = Math.floor((height / target) * 100);
      return `${what}: height ${height} of ${target} (${percent} %)`;
    });
  }
}
