/**
 * One seeded run: a venue's ledger in a folder, its writer and two workers, clients that ask all
 * the time, and faults. After the faults, everything must recover by itself.
 */

import { EmbeddedLedger } from '../../../src/ledger/embedded/embedded-ledger.ts';
import { LedgerError } from '../../../src/ledger/ledger.ts';
import { SnapshotFolder } from '../../../src/replica/snapshot-folder.ts';
import { verifyLedger } from '../../../src/replica/verification.ts';
import type { SeedResult } from '../run-seed.ts';
import type { DiskFlag } from '../system/disk-faults.ts';
import { Kernel, ProcessEnded, type SimulatedProcess } from '../system/kernel.ts';
import { SIMULATED_ROOT } from '../system/simulated-files.ts';
import { onSystem } from '../system/virtual-system.ts';
import { ChargeNetwork } from './charge-network.ts';
import { Client } from './client.ts';
import { describeFault, drawDiskFaults, drawFaults, type Fault } from './faults.ts';
import { Judge } from './judge.ts';
import { KeyDesk } from './key-desk.ts';
import { Machine } from './machine.ts';
import { Truth } from './truth.ts';
import { Worker } from './worker.ts';
import { runWriter, type WriterTerms } from './writer.ts';

const FAULTS_FROM_MS = 300;
const FAULTS_TO_MS = 2_200;
const RECOVERED_MS = 4_500;
const RESTART_MS = 150;
const WORKERS = 2;
const ASK_MS_MAX = 40;
const HEALTH_MS = 200;
const WARNINGS_SHOWN = 12;
const SNAPSHOT = /\.snapshot$/;

/** The fault of the disk during a fault of the run. */
const DISK_FLAGS: Readonly<Partial<Record<Fault['kind'], DiskFlag>>> = {
  'fill the disk': 'isFull',
  'run out of inodes': 'hasNoInodes',
  'slow the disk': 'isSlow',
  'fail reads': 'hasFailingReads',
  'shorten reads and writes': 'hasShortCalls',
};

interface RunningWorker {
  readonly worker: Worker;
  readonly client: Client;
}

export class VenueRun {
  readonly #seed: string;
  readonly #kernel: Kernel;
  readonly #machine: Machine;
  readonly #truth: Truth;
  readonly #judge: Judge;
  readonly #desk: KeyDesk;
  readonly #network: ChargeNetwork;
  readonly #faults: readonly Fault[];
  readonly #terms: WriterTerms;
  readonly #refusesStale: boolean;
  readonly #warnings: string[] = [];
  #writer: SimulatedProcess | undefined;
  readonly #workers = new Map<SimulatedProcess, RunningWorker>();
  readonly #slots: (SimulatedProcess | undefined)[] = [];
  /** The height of the block that was damaged or lost; 0 if no block was. */
  #damaged = 0;
  /**
   * True if all snapshots may be damaged. A pruned ledger starts from a snapshot, so it is then
   * lost, and must report that.
   */
  #mayLackSnapshots = false;
  #isBeyondRepair = false;

  constructor(seed: string) {
    this.#seed = seed;
    this.#kernel = new Kernel(seed);
    const { random } = this.#kernel;
    this.#machine = new Machine(this.#kernel);
    this.#truth = new Truth(random);
    this.#judge = new Judge(this.#kernel, this.#truth);
    this.#desk = new KeyDesk(this.#machine);
    this.#network = new ChargeNetwork(this.#kernel);
    const isDiskRun = seed.startsWith('disk/');
    const draw = isDiskRun ? drawDiskFaults : drawFaults;
    this.#faults = draw(random, FAULTS_FROM_MS, FAULTS_TO_MS);
    this.#terms = {
      blockMs: random.between(20, 80),
      snapshotEvery: 5 + random.below(30),
      snapshotKeep: 1 + random.below(3),
      retention: random.chance(isDiskRun ? 0.6 : 0.3)
        ? {
            keepBlocks: isDiskRun ? 3 + random.below(12) : 10 + random.below(40),
            keepDays: undefined,
          }
        : undefined,
    };
    this.#refusesStale = random.chance(0.3);
  }

  async run(): Promise<SeedResult> {
    const { kernel, files } = this.#machine;
    const noteRejection = (error: unknown) => {
      if (!(error instanceof ProcessEnded))
        this.#judge.violate(`nobody awaits: ${describe(error)}`);
    };
    process.on('unhandledRejection', noteRejection);
    try {
      await onSystem({ kernel, files }, () => this.#live());
    } finally {
      process.off('unhandledRejection', noteRejection);
    }
    return {
      seed: this.#seed,
      violation: this.#judge.violation,
      counts: this.#judge.counts,
      story: [...this.#faults.map(describeFault), ...this.#warnings.slice(-WARNINGS_SHOWN)],
      traceHash: kernel.traceHash,
    };
  }

  async #live(): Promise<void> {
    const kernel = this.#kernel;
    const isOver = () => this.#judge.violation !== undefined;
    kernel.start('keys', () => {
      for (let created = 0; created < 3; created++) this.#desk.create();
    });
    this.#startWriter();
    for (let slot = 0; slot < WORKERS; slot++) this.#startWorker(slot);
    for (const fault of this.#faults) kernel.schedule(fault.atMs, () => this.#inject(fault));
    await kernel.run(FAULTS_TO_MS, isOver);
    this.#heal();
    await kernel.run(RECOVERED_MS, isOver);
    if (isOver()) return;
    await this.#checkAfter(isOver);
  }

  #warn(message: string): void {
    if (this.#kernel.current.isEnded) return;
    // Only the first line is traced, because a stack may differ between runs.
    this.#kernel.trace(`warn ${message.split('\n', 1)}`);
    this.#warnings.push(
      `${this.#kernel.nowMs.toFixed(1)} ${this.#kernel.current.name}: ${message}`,
    );
  }

  /** Starts an ended process again after a pause, as an init system does. */
  #restartLater(start: () => void): void {
    this.#kernel.schedule(RESTART_MS, start, this.#kernel.world);
  }

  #startWriter(): void {
    const kernel = this.#kernel;
    const process = kernel.start('writer', () => {
      const parts = {
        machine: this.#machine,
        truth: this.#truth,
        judge: this.#judge,
        terms: this.#terms,
        warn: (message: string) => this.#warn(message),
      };
      runWriter(parts)
        .catch((error: unknown) => {
          this.#isLost(error);
          this.#warn(`ended: ${describe(error)}`);
        })
        .finally(() => kernel.kill(process));
    });
    this.#writer = process;
    this.#watch(process, () => this.#startWriter());
  }

  #startWorker(slot: number): void {
    const kernel = this.#kernel;
    const process = kernel.start(`worker ${slot}`, () => this.#work(process));
    this.#slots[slot] = process;
    this.#watch(process, () => this.#startWorker(slot));
  }

  #work(process: SimulatedProcess): void {
    const kernel = this.#kernel;
    try {
      if (!this.#machine.ledger.isCreated) throw new Error('there is no ledger');
      const worker = new Worker({
        machine: this.#machine,
        network: this.#network,
        refusesStale: this.#refusesStale,
        warn: (message) => this.#warn(message),
        broken: (error) => this.#noteBroken(error),
      });
      const parts = { machine: this.#machine, truth: this.#truth, judge: this.#judge };
      const client = new Client({ ...parts, desk: this.#desk, worker });
      this.#workers.set(process, { worker, client });
      this.#askAgain(client);
      setInterval(() => void client.judgeHealth(), HEALTH_MS);
    } catch (error) {
      this.#warn(`ended: ${describe(error)}`);
      kernel.kill(process);
    }
  }

  #askAgain(client: Client): void {
    this.#kernel.schedule(this.#kernel.random.between(0, ASK_MS_MAX), () => {
      this.#askAgain(client);
      client.ask();
    });
  }

  /**
   * Notes that a ledger was reported as broken, which is a violation if nothing has damaged the
   * ledger.
   */
  #noteBroken(error: Error): void {
    this.#warn(`broken: ${describe(error)}`);
    if (this.#kernel.current.isEnded) return;
    if (this.#isLost(error)) return;
    if (this.#damaged === 0) this.#judge.violate(`called broken: ${describe(error)}`);
    this.#judge.count('damage noticed');
  }

  #isLost(error: unknown): boolean {
    const isMissing = error instanceof LedgerError && error.fault === 'missing';
    if (!this.#mayLackSnapshots || !isMissing) return false;
    this.#isBeyondRepair = true;
    return true;
  }

  /** Starts a process again some time after it has ended. */
  #watch(process: SimulatedProcess, restart: () => void): void {
    const world = this.#kernel.world;
    const look = () => {
      if (!process.isEnded) this.#kernel.schedule(RESTART_MS, look, world);
      else this.#restartLater(restart);
    };
    this.#kernel.schedule(RESTART_MS, look, world);
  }

  #inject({ kind, forMs }: Fault): void {
    const kernel = this.#kernel;
    const { random } = kernel;
    const { faults, files, ledger, keys } = this.#machine;
    const worker = random.pick(this.#slots);
    kernel.trace(kind);
    this.#judge.count(`fault: ${kind}`);
    const later = (mend: () => void) => kernel.schedule(forMs, mend, kernel.world);
    const flag = DISK_FLAGS[kind];
    if (flag !== undefined) {
      faults[flag] = true;
      later(() => {
        faults[flag] = false;
      });
      return;
    }
    switch (kind) {
      case 'kill the writer':
        if (this.#writer) kernel.kill(this.#writer);
        break;
      case 'kill the writer at a write':
        if (this.#writer) this.#writer.killAtWrite = this.#writer.writeCount + 1 + random.below(20);
        break;
      case 'kill a worker':
        if (worker) kernel.kill(worker);
        break;
      case 'cut the power':
        this.#cutPower();
        break;
      case 'pause the writer':
        this.#pause(this.#writer, forMs);
        break;
      case 'pause a worker':
        this.#pause(worker, forMs);
        break;
      case 'set the clock':
        this.#setClock(random.between(-20_000, 20_000));
        later(() => this.#setClock(0));
        break;
      case 'lose messages between workers':
        this.#network.isFaulty = true;
        later(() => {
          this.#network.isFaulty = false;
        });
        break;
      case 'change keys':
        this.#desk.changeSomething();
        break;
      case 'damage a snapshot':
        if (files.flipBit(SNAPSHOT)) this.#noteSnapshotLost();
        break;
      case 'damage a block':
        this.#damaged ||= ledger.flipBit() ?? 0;
        break;
      case 'lose a block':
        this.#damaged ||= ledger.loseBlock() ?? 0;
        break;
      case 'change a digit of a block':
        this.#damaged ||= ledger.changeDigit() ?? 0;
        break;
      case 'lose the last block in a power cut':
        this.#cutPower();
        this.#damaged ||= ledger.loseLastBlock() ?? 0;
        break;
      case 'damage the newest snapshot':
        if (files.flipBit(SNAPSHOT, { isNewest: true })) this.#noteSnapshotLost();
        break;
      case 'damage a key': {
        const id = keys.flipBit();
        for (const secret of this.#desk.secrets) if (secret.id === id) secret.isUncertain = true;
        break;
      }
    }
  }

  /**
   * Notes the loss of a snapshot. As long as one snapshot is intact, the blocks after it must also
   * exist.
   */
  #noteSnapshotLost(): void {
    const isLast = !this.#machine.files.hasIntact(SNAPSHOT);
    this.#mayLackSnapshots ||= isLast && this.#terms.retention !== undefined;
  }

  #cutPower(): void {
    for (const process of [this.#writer, ...this.#slots]) {
      if (process !== undefined) this.#kernel.kill(process);
    }
    this.#machine.cutPower();
  }

  #pause(process: SimulatedProcess | undefined, forMs: number): void {
    if (process === undefined) return;
    this.#kernel.pause(process);
    this.#kernel.schedule(forMs, () => this.#kernel.resume(process), this.#kernel.world);
  }

  /** Sets the clock of the machine. All its processes see the change. */
  #setClock(errorMs: number): void {
    this.#kernel.clockErrorMs = errorMs;
  }

  #heal(): void {
    this.#machine.faults.mend();
    this.#network.isFaulty = false;
    this.#setClock(0);
    if (this.#writer) this.#writer.killAtWrite = Number.POSITIVE_INFINITY;
    for (const process of [this.#writer, ...this.#slots]) {
      if (process?.isPaused) this.#kernel.resume(process);
    }
  }

  async #checkAfter(isOver: () => boolean): Promise<void> {
    const kernel = this.#kernel;
    const isDamaged = this.#damaged !== 0 || this.#isBeyondRepair;
    const base = this.#baseHeight();
    this.#judge.checkStored(this.#machine.ledger.blocks, base, this.#damaged);
    const verification = kernel.start('verify', () => void this.#verify(base < this.#damaged));
    if (!isDamaged) for (const slot of this.#slots) this.#checkWorker(slot);
    await kernel.run(RECOVERED_MS + 500, isOver);
    if (!verification.isEnded) this.#judge.violate('verify does not end');
    this.#judgeBudgets();
  }

  #baseHeight(): number {
    return Math.min(...this.#machine.ledger.blocks.keys(), Number.POSITIVE_INFINITY) - 1;
  }

  #checkWorker(slot: SimulatedProcess | undefined): void {
    const running = slot && this.#workers.get(slot);
    const key = this.#desk.secrets.find(
      ({ revokedMs, isUncertain, budget }) =>
        revokedMs === undefined && !isUncertain && budget.weight > 1_000,
    );
    if (running === undefined || slot?.isEnded) {
      this.#judge.violate('a worker did not come back');
      return;
    }
    this.#kernel.schedule(
      0,
      () => {
        if (key !== undefined) running.client.askAll(key);
        void running.client.judgeHealth({ mustBeWell: true });
      },
      slot,
    );
  }

  async #verify(mustFail: boolean): Promise<void> {
    const process = this.#kernel.current;
    const acknowledged = this.#judge.acknowledgedHeight;
    try {
      const { head } = await verifyLedger({
        ledger: new EmbeddedLedger(this.#machine.ledger.open()),
        snapshots: new SnapshotFolder(`${SIMULATED_ROOT}/data`),
        warn: (message) => this.#warn(message),
        progress: () => undefined,
      });
      if (mustFail)
        this.#judge.violate(`verify did not notice what happened to block ${this.#damaged}`);
      if (head.height < acknowledged) {
        this.#judge.violate(`the ledger ends at ${head.height}`);
      }
    } catch (error) {
      const isExpected = this.#damaged !== 0 && error instanceof LedgerError;
      if (!isExpected) this.#judge.violate(`verify: ${describe(error)}`);
      this.#judge.count('damage noticed');
    } finally {
      this.#kernel.kill(process);
    }
  }

  /** Judges the budgets. Workers may together exceed a budget, each by at most the whole budget. */
  #judgeBudgets(): void {
    for (const { id, budget, createdMs } of this.#desk.secrets) {
      const answers = this.#judge.counts.get(`answers for ${id}`) ?? 0;
      this.#judge.counts.delete(`answers for ${id}`);
      const refilled = ((this.#kernel.nowMs - createdMs) * budget.weight) / budget.periodMs;
      const weightMax = WORKERS * (budget.weight + refilled) + this.#restarts() * budget.weight;
      if (2 * answers > weightMax + 2) {
        this.#judge.violate(`${answers} answers for a key with a budget of ${budget.weight}`);
      }
    }
  }

  #restarts(): number {
    return this.#workers.size - WORKERS;
  }
}

function describe(error: unknown): string {
  const { stack, message } = error as Error;
  return error instanceof LedgerError ? `${error.fault}: ${message}` : `${stack ?? message}`;
}
