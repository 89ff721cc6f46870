/** A ledger that grows a block at a time, with the state after each. */

import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { Replica } from '../../src/replica/replica.ts';
import { createState, type StateView } from '../../src/state/state.ts';

interface Cleanup {
  after(clean: () => Promise<void>): void;
}

export class SteppedLedger {
  readonly #ledger: LedgerWriter;
  readonly #replica = new Replica(createState(), CHAIN_START);

  constructor(ledger: LedgerWriter) {
    this.#ledger = ledger;
  }

  get state(): StateView {
    return this.#replica.state;
  }

  async append(line: string): Promise<void> {
    await this.#ledger.append([this.#replica.extend(Buffer.from(line))]);
  }
}

export async function openSteppedLedger(context: Cleanup, folder: string): Promise<SteppedLedger> {
  const ledger = await openEmbeddedLedgerWriter(folder);
  context.after(() => ledger.close());
  return new SteppedLedger(ledger);
}
