/**
 * A process that answers questions, with the replica, the keys, the budgets and the code of all
 * answers.
 */

import pino from 'pino';
import { Admission } from '../../../src/access/admission.ts';
import { shareBudgets } from '../../../src/access/budget-sharing.ts';
import { Budgets } from '../../../src/access/budgets.ts';
import { EmbeddedKeyReader } from '../../../src/access/embedded/key-reader.ts';
import { KeyRing } from '../../../src/access/key-ring.ts';
import { Answers } from '../../../src/http/answering/answers.ts';
import { EmbeddedLedger } from '../../../src/ledger/embedded/embedded-ledger.ts';
import { LiveState } from '../../../src/replica/live-state.ts';
import { SnapshotFolder } from '../../../src/replica/snapshot-folder.ts';
import { SIMULATED_ROOT } from '../system/simulated-files.ts';
import type { ChargeNetwork } from './charge-network.ts';
import type { Machine } from './machine.ts';

export const MAX_AGE_MS = 1_500;
const MIN_HEIGHT_WAIT_MS = 400;

const SILENT = pino({ level: 'silent' });
const COUNTERS = { countRequests() {}, countFailure() {}, countWork() {} };
const NO_LOAD = { isOverloaded: false, delayMs: 0 };

export interface WorkerParts {
  readonly machine: Machine;
  readonly network: ChargeNetwork;
  readonly refusesStale: boolean;
  warn(message: string): void;
  /** Called when the ledger can no longer be followed. */
  broken(error: Error): void;
}

export class Worker {
  readonly answers: Answers;
  readonly live: LiveState;
  readonly keys: KeyRing;
  readonly refusesStale: boolean;

  constructor({ machine, network, refusesStale, warn, broken }: WorkerParts) {
    this.refusesStale = refusesStale;
    this.live = new LiveState({
      ledger: new EmbeddedLedger(machine.ledger.open()),
      snapshots: new SnapshotFolder(`${SIMULATED_ROOT}/data`),
      maxAgeMs: MAX_AGE_MS,
      warn,
      advanced: () => undefined,
      failed: broken,
    });
    const reader = new EmbeddedKeyReader(`${SIMULATED_ROOT}/keys`, machine.keys);
    this.keys = new KeyRing(reader, { warn, warnOfUse: warn });
    const budgets = new Budgets();
    shareBudgets(budgets, [network.join(machine.kernel.current, budgets)]);
    this.answers = new Answers({
      live: this.live,
      admission: new Admission(this.keys, budgets),
      counters: COUNTERS,
      load: NO_LOAD,
      log: SILENT,
      settings: {
        refuseStale: refusesStale,
        minHeightWait: MIN_HEIGHT_WAIT_MS,
        bodyBytesMax: 1 << 16,
        overloadDelay: 1_000,
        followWait: 1_000,
        maxAccountAge: 0,
        forward: false,
      },
    });
    this.live.run(new AbortController().signal).catch(broken);
  }
}
