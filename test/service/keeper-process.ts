/**
 * A replica that keeps snapshots in a folder that it may share: for each line of its input it takes a
 * block, and in the end it prints how many snapshots it has saved.
 *
 *   node keeper-process.js FOLDER EVERY
 */

import { createInterface } from 'node:readline';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import { Replica } from '../../src/replica/replica.ts';
import type { SharedSnapshots } from '../../src/replica/shared-snapshots.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { SnapshotKeeper } from '../../src/replica/snapshot-keeper.ts';
import { createState } from '../../src/state/state.ts';

class CountedFolder extends SnapshotFolder {
  saved = 0;

  override async save(...args: Parameters<SnapshotFolder['save']>): Promise<void> {
    await super.save(...args);
    this.saved++;
  }
}

const [folder, every] = process.argv.slice(2);
const snapshots = new CountedFolder(folder);
const keeper = new SnapshotKeeper({
  snapshots,
  // Nothing of it is used here but that it takes what is published.
  shared: { publish: async () => undefined } as unknown as SharedSnapshots,
  every: Number(every),
  keep: 100,
  warn: (message) => process.stderr.write(`${message}\n`),
});
const replica = new Replica(createState(), CHAIN_START);
process.stdout.write('ready\n');
for await (const line of createInterface(process.stdin)) {
  replica.extend(Buffer.from(line));
  keeper.keep(replica);
  process.stdout.write(`taken ${replica.point.height}\n`);
}
await keeper.close();
process.stdout.write(`saved ${snapshots.saved}\n`);
