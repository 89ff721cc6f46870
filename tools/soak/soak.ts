/**
 * A soak: the whole service under mixed load for a long time, with a simulator that writes, workers
 * that are killed, and a follower of an exchange that has faults. The resources of its processes
 * are sampled, and must not grow.
 */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress } from '../../src/exact/address.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { Program, start } from '../harness/program.ts';
import {
  type Cleanup,
  createKey,
  type RunningService,
  readSamples,
  startService,
  until,
} from '../harness/running.ts';
import { RunningFollower } from '../harness/running-follower.ts';
import { RunningStub } from '../harness/running-stub.ts';
import { makeTemporaryFolder } from '../harness/temporary-folder.ts';
import { drawPlan } from '../stub-exchange/fault-plans.ts';
import { Truth } from '../stub-exchange/truth.ts';
import type { LoadOptions, LoadReport } from './load.ts';
import { type ProcessSample, probeVariables, readProbes } from './probe.ts';
import { IDLE_ROLE, type SoakSpan } from './verdict.ts';

/** A program that does nothing. If its event loop is late, the machine is the reason. */
const IDLE = 'setInterval(() => undefined, 1000)';
const LOAD = path.join(import.meta.dirname, 'load.js');
/** The time between two blocks: five blocks a second. */
const BLOCK_MS = 200;
const ACCOUNTS = 300;
const EXCHANGE_ACCOUNTS = 40;
const EXCHANGE_BLOCK_MS = 500;
/** Flags that include snapshots and pruning in the soak. */
const WRITER_FLAGS = [
  ...['--snapshot-every', '500', '--snapshot-keep', '3'],
  ...['--keep-blocks', '2000'],
];
const FOLLOW_FLAGS = [
  ...['--follow-sweep', '5000', '--follow-wait', '2000'],
  ...['--snapshot-every', '500', '--snapshot-keep', '3', '--keep-blocks', '2000'],
];
/** The duration of an exchange's faults, and of the time without faults after them. */
const FAULTS_MS = 20_000;
/** The younger worker is killed at this interval, and at least twice in a short soak. */
const KILL_EVERY_MINUTES = 5;
const KILLS_MIN = 2;
const END_MS = 600_000;
/** The number of the level "error" in pino's log. */
const ERROR_LEVEL = 50;
const EXPECTED_ERRORS = ['a worker died'];

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: string;
  /** Called from time to time with a text about what has happened so far. */
  progress?(text: string): void;
}

export interface SoakResult {
  readonly span: SoakSpan;
  readonly samplesByRole: ReadonlyMap<string, readonly ProcessSample[]>;
  /** The counts since the start, one report for each second. */
  readonly reports: readonly LoadReport[];
  readonly blocks: number;
  readonly kills: number;
  readonly faultPlans: number;
  readonly violations: readonly string[];
}

/** A feed whose blocks are piped into `perpinfo append`. */
class Feed {
  readonly #append: Program;
  readonly #simulator: Simulator;

  constructor(append: Program, simulator: Simulator) {
    this.#append = append;
    this.#simulator = simulator;
  }

  get height(): number {
    return this.#simulator.state.height;
  }

  get users(): string[] {
    const { addresses } = this.#simulator.state;
    return Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
      formatAddress(addresses.addressOf(index + 1)),
    );
  }

  get pid(): number {
    return this.#append.child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#append.child.exitCode !== null;
  }

  write(): void {
    this.#append.child.stdin.write(`${this.#simulator.next(Date.now())}\n`);
  }

  async setUp(): Promise<void> {
    do this.write();
    while (!this.#simulator.isSetUp);
    await this.#append.untilWritten(`durable ${this.height}\n`);
  }

  async stop(): Promise<void> {
    this.#append.child.stdin.end();
    await this.#append.ended;
  }
}

export class Soak {
  readonly #options: SoakOptions;
  readonly #random: Random;
  readonly #probes: string;
  readonly #feed: Feed;
  readonly #service: RunningService;
  readonly #stub: RunningStub;
  readonly #follower: RunningFollower;
  readonly #load: Program;
  readonly #idlePid: number;
  readonly #violations: string[] = [];
  readonly #span: SoakSpan;
  /** The worker that is never killed. */
  readonly #elder: number;
  #kills = 0;
  #faultPlans = 0;

  private constructor(options: SoakOptions, parts: SoakParts) {
    this.#options = options;
    this.#random = new Random(`${options.seed}/soak`);
    this.#probes = parts.probes;
    this.#feed = parts.feed;
    this.#service = parts.service;
    this.#stub = parts.stub;
    this.#follower = parts.follower;
    this.#load = parts.load;
    this.#idlePid = parts.idlePid;
    this.#elder = parts.service.workerPids[0];
    const startMs = Date.now();
    this.#span = { startMs, endMs: startMs + options.minutes * 60_000 };
  }

  static async run(context: Cleanup, options: SoakOptions): Promise<SoakResult> {
    const soak = new Soak(options, await startParts(context, options));
    await Promise.all([
      soak.#writeBlocks(),
      soak.#killWorkers(),
      soak.#spoilExchange(),
      soak.#watch(),
    ]);
    return soak.#finish();
  }

  get #isOver(): boolean {
    return Date.now() >= this.#span.endMs;
  }

  async #writeBlocks(): Promise<void> {
    while (!this.#isOver) {
      this.#feed.write();
      await sleep(BLOCK_MS);
    }
  }

  async #killWorkers(): Promise<void> {
    const { startMs, endMs } = this.#span;
    const kills = Math.max(KILLS_MIN, Math.ceil(this.#options.minutes / KILL_EVERY_MINUTES) - 1);
    for (let kill = 1; kill <= kills; kill++) {
      const dueMs = startMs + ((endMs - startMs) * kill) / (kills + 1);
      await sleep(dueMs - Date.now());
      const { workerPids } = this.#service;
      process.kill(workerPids.findLast((pid) => pid !== this.#elder) ?? 0, 'SIGKILL');
      this.#kills++;
      await until('another worker', () => this.#service.workerPids.length > workerPids.length);
    }
  }

  async #spoilExchange(): Promise<void> {
    for (let isFaulty = false; !this.#isOver; isFaulty = !isFaulty) {
      await this.#stub.setFaults(isFaulty ? drawPlan(this.#random) : {});
      if (isFaulty) this.#faultPlans++;
      await sleep(Math.min(FAULTS_MS, Math.max(0, this.#span.endMs - Date.now())));
    }
  }

  async #watch(): Promise<void> {
    const { startMs, endMs } = this.#span;
    while (!this.#isOver) {
      await sleep(Math.min(60_000, Math.max(0, endMs - Date.now())));
      const minutes = Math.round((Date.now() - startMs) / 60_000);
      const report = this.#reports.at(-1);
      const answers = report === undefined ? 0 : countAnswers(report);
      const found = [...this.#violations, ...(report?.violations ?? [])].length;
      this.#options.progress?.(
        `minute ${minutes} of ${this.#options.minutes}: height ${this.#feed.height}, ` +
          `${answers} answers, ${this.#kills} kills, ${found} violations`,
      );
      if (this.#feed.hasEnded) this.#violations.push('the writer has ended');
      await this.#lookAtMetrics();
    }
  }

  async #lookAtMetrics(): Promise<void> {
    const samples = readSamples(await this.#service.metrics());
    const failures = samples.get('perpinfo_internal_failures_total') ?? 0;
    if (failures > 0) this.#violations.push(`${failures} internal failures`);
  }

  get #reports(): LoadReport[] {
    const lines = this.#load.stdout.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  async #finish(): Promise<SoakResult> {
    this.#load.child.kill('SIGTERM');
    const { code, stderr } = await this.#load.ended;
    if (code !== 0) this.#violations.push(`the load ended with ${code}: ${stderr}`);
    const reports = this.#reports;
    for (const service of [this.#service, this.#follower.service]) {
      this.#violations.push(...listErrors(service));
    }
    const violations = [...this.#violations, ...(reports.at(-1)?.violations ?? [])];
    return {
      ...{ span: this.#span, samplesByRole: this.#sortSamples(), reports },
      ...{ blocks: this.#feed.height, kills: this.#kills, faultPlans: this.#faultPlans },
      violations,
    };
  }

  #sortSamples(): Map<string, readonly ProcessSample[]> {
    const probes = readProbes(this.#probes);
    const ofPids = (...pids: number[]) => pids.flatMap((pid) => probes.get(pid) ?? []);
    const { program, workerPids } = this.#service;
    const followed = this.#follower.service;
    return new Map([
      ['supervisor', ofPids(program.child.pid ?? 0)],
      ['worker', ofPids(this.#elder)],
      ['replaced worker', ofPids(...workerPids.filter((pid) => pid !== this.#elder))],
      ['writer', ofPids(this.#feed.pid)],
      ['follower', ofPids(followed.program.child.pid ?? 0)],
      ["follower's worker", ofPids(...followed.workerPids)],
      [IDLE_ROLE, ofPids(this.#idlePid)],
    ]);
  }
}

interface SoakParts {
  readonly probes: string;
  readonly feed: Feed;
  readonly service: RunningService;
  readonly stub: RunningStub;
  readonly follower: RunningFollower;
  readonly load: Program;
  readonly idlePid: number;
}

async function startParts(context: Cleanup, { minutes, seed }: SoakOptions): Promise<SoakParts> {
  const folder = await makeTemporaryFolder({ after: (clean) => context.after(clean) });
  const [data, followed, probes] = ['data', 'followed', 'probes'].map((name) =>
    path.join(folder, name),
  );
  mkdirSync(probes);
  const variables = probeVariables(probes);
  const runMsMax = minutes * 60_000 + END_MS;
  const append = start(['append', '--data', data, ...WRITER_FLAGS], variables, runMsMax);
  const feed = new Feed(append, createSimulator({ seed, accounts: ACCOUNTS }));
  context.after(() => feed.stop());
  await feed.setUp();
  const { secret } = await createKey(data);
  const service = await startService(context, { data, workers: 2, variables, runMsMax });
  await service.untilCaughtUp(feed.height);
  const file = path.join(folder, 'exchange.ndjson');
  const stub = await RunningStub.start(context, {
    ...{ file, seed, limit: 0 },
    ...{ accounts: EXCHANGE_ACCOUNTS, intervalMs: EXCHANGE_BLOCK_MS },
  });
  const follower = await RunningFollower.start(context, {
    ...{ data: followed, stub, flags: FOLLOW_FLAGS, variables },
  });
  const options: LoadOptions = {
    seed,
    service: { port: service.port, secret, users: feed.users },
    data,
    follower: {
      ...{ port: follower.service.port, secret: follower.secret },
      users: new Truth(file).users,
    },
  };
  const load = new Program([process.execPath, LOAD, JSON.stringify(options)], {}, runMsMax);
  const idle = new Program([process.execPath, '--eval', IDLE], variables, runMsMax);
  context.after(() => Promise.all([load, idle].map(end)).then(() => undefined));
  const idlePid = idle.child.pid ?? 0;
  return { probes, feed, service, stub, follower, load, idlePid };
}

async function end({ child, ended }: Program): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** Returns the number of responses of every status, and of pushed states. */
export function countAnswers({ counts }: LoadReport): number {
  return Object.entries(counts)
    .filter(([what]) => / (\d+|clearinghouseState)$/.test(what))
    .reduce((sum, [, count]) => sum + count, 0);
}

function listErrors({ program }: RunningService): string[] {
  const lines = program.stdout.split('\n').slice(0, -1);
  const entries = lines.map((line) => JSON.parse(line) as { level: number; msg: string });
  return entries
    .filter(({ level, msg }) => level >= ERROR_LEVEL && !EXPECTED_ERRORS.includes(msg))
    .map(({ msg }) => `logged: ${msg}`);
}
