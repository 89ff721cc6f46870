/** `perpinfo verify`: checks every block and snapshot of a ledger. */

import {
  type ChainPoint,
  checkLink,
  type Ledger,
  LedgerError,
  type StoredBlock,
} from '../ledger/ledger.ts';
import { STORAGE_SETTINGS } from '../ledger/location.ts';
import { describePruning, Replica, stateDigest } from '../replica/replica.ts';
import type { SnapshotFolder } from '../replica/snapshot-folder.ts';
import { openStorage } from '../replica/storage.ts';
import { createState } from '../state/state.ts';
import type { Call, Command } from './command.ts';
import { reportRestore } from './restore.ts';

const settings = STORAGE_SETTINGS;

export const verify: Command<(typeof settings)[number]> = {
  name: 'verify',
  summary: 'Checks every block of the ledger, and every snapshot against the blocks.',
  settings,
  details:
    'Reads the whole ledger, checks each hash, replays every block and compares the state with\n' +
    'each snapshot. Prints height, chain head and state digest. Exit code 1 where anything is wrong.\n' +
    'Of a pruned ledger the blocks that are kept are checked.',
  example: 'perpinfo verify --data ./data',
  async run({ settings: chosen, terminal, signal }) {
    const storage = await openStorage(chosen);
    const { ledger, snapshots, shared } = storage;
    try {
      const base = await ledger.base();
      // The blocks up to the base are gone: the replay needs a snapshot to start from.
      if (base.height > 0) {
        terminal.say(describePruning(base));
        const { height } = await ledger.head();
        const { warn } = reportRestore({ terminal, signal });
        await shared?.fetch({ ledger, snapshots, height, warn });
      }
      await new Verification(ledger, snapshots, { terminal, signal }).run();
    } finally {
      await storage.close();
    }
  },
};

class Verification {
  readonly #ledger: Ledger;
  readonly #snapshots: SnapshotFolder;
  readonly #call: Pick<Call<'data'>, 'terminal' | 'signal'>;
  /** Undefined in a pruned ledger up to its first snapshot, from which the replay starts. */
  #replica: Replica | undefined;
  readonly #unchecked: Set<number>;
  readonly #damaged: number[] = [];

  constructor(
    ledger: Ledger,
    snapshots: SnapshotFolder,
    call: Pick<Call<'data'>, 'terminal' | 'signal'>,
  ) {
    this.#ledger = ledger;
    this.#snapshots = snapshots;
    this.#call = call;
    this.#unchecked = new Set(snapshots.heights());
  }

  async run(): Promise<void> {
    const base = await this.#ledger.base();
    const head = await this.#ledger.head();
    if (base.height === 0) this.#replica = new Replica(createState(), base);
    await this.#checkSnapshot(base);
    let previous: ChainPoint = base;
    const { progress } = reportRestore(this.#call);
    for await (const batch of this.#ledger.read(base.height, head.height)) {
      for (const block of batch) {
        this.#checkBlock(previous, block);
        previous = block;
        await this.#checkSnapshot(block);
      }
      progress(previous.height, head.height);
    }
    if (previous.height !== head.height) {
      throw new LedgerError('corrupt', `block ${previous.height + 1} is not in the ledger`);
    }
    await this.#report(head);
  }

  #checkBlock(previous: ChainPoint, block: StoredBlock): void {
    if (this.#replica === undefined) checkLink(previous, block);
    else this.#replica.apply(block);
  }

  async #checkSnapshot({ height, hash }: ChainPoint): Promise<void> {
    if (!this.#unchecked.delete(height)) return;
    try {
      const loaded = await this.#snapshots.load(height);
      if (loaded === undefined) return;
      const { state, point } = loaded;
      if (!point.hash.equals(hash)) throw new Error('it belongs to another ledger');
      this.#replica ??= new Replica(state, point);
      if (stateDigest(state) !== stateDigest(this.#replica.state)) {
        throw new Error('its state is not what the blocks give');
      }
    } catch (error) {
      this.#damaged.push(height);
      const reason = (error as Error).message;
      this.#call.terminal.say(`the snapshot of height ${height} is damaged: ${reason}`);
    }
  }

  async #report(head: ChainPoint): Promise<void> {
    const digest =
      this.#replica === undefined ? 'unknown: pruned' : stateDigest(this.#replica.state);
    await this.#call.terminal.write(
      `height ${head.height}\nhead   ${head.hash.toString('hex')}\ndigest ${digest}\n`,
    );
    const useless = [...this.#damaged, ...this.#unchecked].sort((a, b) => a - b);
    if (useless.length === 0) return;
    const heights = useless.join(', ');
    const message = `the blocks are sound, but not the snapshots of height ${heights}: delete them`;
    throw new LedgerError('corrupt', message);
  }
}
