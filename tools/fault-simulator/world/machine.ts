/** A simulated machine: a disk with a ledger, snapshots and keys, and the faults of the disk. */

import { DiskFaults } from '../system/disk-faults.ts';
import type { Kernel } from '../system/kernel.ts';
import { SimulatedFiles } from '../system/simulated-files.ts';
import { SimulatedKeyFile } from '../system/simulated-key-tables.ts';
import { SimulatedLedgerFile } from '../system/simulated-ledger-store.ts';

export class Machine {
  readonly kernel: Kernel;
  readonly faults: DiskFaults;
  readonly files: SimulatedFiles;
  readonly ledger: SimulatedLedgerFile;
  readonly keys: SimulatedKeyFile;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
    this.faults = new DiskFaults(kernel.random);
    this.files = new SimulatedFiles(kernel, this.faults);
    this.ledger = new SimulatedLedgerFile(kernel, this.faults);
    this.keys = new SimulatedKeyFile(kernel, this.faults);
  }

  /**
   * Cuts the power: data that is not on the disk is lost. The caller must also end all processes.
   */
  cutPower(): void {
    this.files.cutPower();
    this.ledger.cutPower();
  }
}
