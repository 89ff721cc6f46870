/**
 * A whole deployment under load, whose processes are killed at random: a writer, a service with two
 * workers, and a service that follows a stub exchange. Processes that an init system would restart
 * are restarted, and the others must recover by themselves. No acknowledged block may be lost, and
 * no answer may be wrong.
 */

import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { Random } from '../../src/simulator/random.ts';
import { run } from '../harness/program.ts';
import { type Answer, type Cleanup, createKey, until } from '../harness/running.ts';
import { RunningStub } from '../harness/running-stub.ts';
import { makeTemporaryFolder } from '../harness/temporary-folder.ts';
import type { FollowerAnswer } from '../stub-exchange/follower-answers.ts';
import { checkAgainst } from '../stub-exchange/following.ts';
import { Truth } from '../stub-exchange/truth.ts';
import { KeptService } from './kept-service.ts';
import { KeptWriter } from './kept-writer.ts';
import { compareWithReplay, KillLoad, type Sample } from './kill-load.ts';

type Kind = 'writer' | 'supervisor' | 'worker' | 'follower' | "follower's worker";
/**
 * The victims of kills. Each is as frequent as in this list, because more processes must start
 * again after some kills than after others.
 */
const VICTIMS: readonly Kind[] = [
  ...(['writer', 'writer', 'writer', 'worker', 'worker', 'worker'] as const),
  ...(['supervisor', 'follower', 'follower', "follower's worker"] as const),
];
/** The maximum time of a wait. It is long, because a busy machine starts processes slowly. */
const PATIENCE_MS = 300_000;

const BLOCK_MS = 100;
const CLIENTS = 4;
const PUSH_CLIENTS = 3;
const FOLLOWER_CLIENTS = 2;
const FOLLOWER_ASK_MS = 50;
/** The maximum pause between two kills, if the second kill waits until everything has recovered. */
const CALM_MS_MAX = 800;
/** The share of kills that happen during a recovery, and the maximum pause before such a kill. */
const HASTY_SHARE = 0.5;
const HASTY_MS_MAX = 400;
const EXCHANGE = { limit: 0, accounts: 25, intervalMs: 500 };
const FOLLOW_FLAGS = ['--follow-sweep', '3000', '--follow-budget', '0'];
/** The statuses that a follower may answer with while it recovers. */
const NOT_YET: readonly number[] = [502, 503];
const QUERIES = 10;
const VIOLATIONS_MAX = 20;

export interface KillRunOptions {
  readonly kills: number;
  readonly seed: string;
  progress?(text: string): void;
}

export interface KillReport {
  readonly killsByKind: Readonly<Record<Kind, number>>;
  /** The number of kills during a recovery. */
  readonly hasty: number;
  readonly acknowledged: number;
  readonly answers: number;
  readonly states: number;
  /** The number of answers and states that were compared with a replay. */
  readonly compared: number;
  /** The number of answers that were also compared with the output of `query --at`. */
  readonly queried: number;
  readonly followerAnswers: number;
  /**
   * The number of heads of the follower's ledger that were seen. All of them are still in the
   * ledger.
   */
  readonly heads: number;
  readonly refusals: number;
  readonly lost: number;
  readonly violations: readonly string[];
}

export class KillRun {
  readonly #options: KillRunOptions;
  readonly #random: Random;
  readonly #folder: string;
  readonly #parts: KillParts;
  readonly #violations: string[];
  readonly #told: FollowerAnswer[] = [];
  /** The hashes of the follower's blocks by height, as a reader saw them. */
  readonly #heads = new Map<number, Buffer>();
  readonly #killsByKind: Record<Kind, number> = {
    ...{ writer: 0, supervisor: 0, worker: 0, follower: 0, "follower's worker": 0 },
  };
  #hasty = 0;
  #followerAnswers = 0;
  #isOver = false;

  private constructor(
    options: KillRunOptions,
    folder: string,
    parts: KillParts,
    violations: string[],
  ) {
    this.#options = options;
    this.#random = new Random(`${options.seed}/kills`);
    this.#folder = folder;
    this.#parts = parts;
    this.#violations = violations;
  }

  static async run(context: Cleanup, options: KillRunOptions): Promise<KillReport> {
    const folder = await makeTemporaryFolder({ after: (clean) => context.after(clean) });
    const violations: string[] = [];
    const noteViolation = (message: string) => {
      if (violations.length < VIOLATIONS_MAX) violations.push(message);
    };
    const parts = await startParts(context, { folder, seed: options.seed, noteViolation });
    const killRun = new KillRun(options, folder, parts, violations);
    return killRun.#run();
  }

  async #run(): Promise<KillReport> {
    const { load } = this.#parts;
    load.start(CLIENTS, PUSH_CLIENTS);
    const beside = Promise.all([
      this.#writeBlocks(),
      this.#watchHeads(),
      ...Array.from({ length: FOLLOWER_CLIENTS }, () => this.#askFollower()),
    ]);
    for (let kill = 1; kill <= this.#options.kills; kill++) {
      await this.#killOne();
      const isHasty = this.#random.chance(HASTY_SHARE);
      if (isHasty) {
        this.#hasty++;
        await sleep(this.#random.between(0, HASTY_MS_MAX));
      } else {
        await this.#untilWell();
        await this.#checkFollower();
        await sleep(this.#random.between(0, CALM_MS_MAX));
      }
      if (kill % 10 === 0) this.#tellProgress(kill);
    }
    await this.#untilWell();
    await this.#checkFollower();
    this.#isOver = true;
    await Promise.all([beside, load.stop()]);
    return this.#finish();
  }

  #tellProgress(kill: number): void {
    const { writer, load } = this.#parts;
    this.#options.progress?.(
      `${kill} of ${this.#options.kills} kills: ${writer.acknowledged} blocks acknowledged, ` +
        `${load.answers} answers, ${this.#violations.length} violations`,
    );
  }

  async #writeBlocks(): Promise<void> {
    while (!this.#isOver) {
      this.#parts.writer.makeBlock();
      await sleep(BLOCK_MS);
    }
  }

  /** Watches the follower's ledger: a block that a reader has seen must never disappear. */
  async #watchHeads(): Promise<void> {
    const ledger = await openEmbeddedLedger(this.#parts.followed);
    while (!this.#isOver) {
      const { height, hash } = await ledger.head();
      const seen = this.#heads.get(height);
      if (seen !== undefined && !seen.equals(hash)) {
        this.#violations.push(`block ${height} of the follower has another hash`);
      }
      this.#heads.set(height, Buffer.from(hash));
      await sleep(BLOCK_MS);
    }
    await ledger.close();
  }

  async #askFollower(): Promise<void> {
    const { follower, followerSecret, truth } = this.#parts;
    while (!this.#isOver) {
      const user = this.#random.pick(truth.users);
      const question = { type: 'clearinghouseState', user, dex: '' };
      const answer = await follower.ask(followerSecret, question);
      if (answer?.status === 200) {
        this.#followerAnswers++;
        this.#told.push({ question, ...answer });
      } else if (answer !== undefined && !NOT_YET.includes(answer.status)) {
        this.#violations.push(`the follower said ${answer.status}: ${answer.body}`);
      }
      await sleep(FOLLOWER_ASK_MS);
    }
  }

  async #checkFollower(): Promise<void> {
    try {
      await this.#parts.check(this.#told.splice(0));
    } catch (error) {
      this.#violations.push(`the follower was wrong: ${(error as Error).message}`);
    }
  }

  /** Kills a random process. If the chosen process has just ended, another process is chosen. */
  async #killOne(): Promise<void> {
    for (;;) {
      const kind = this.#random.pick(VICTIMS);
      const pid = this.#findVictim(kind);
      if (pid !== undefined && killAtOnce(pid)) {
        this.#killsByKind[kind]++;
        return;
      }
      await sleep(10);
    }
  }

  #findVictim(kind: Kind): number | undefined {
    const { writer, service, follower } = this.#parts;
    if (kind === 'writer') return writer.pid;
    if (kind === 'supervisor') return service.supervisorPid;
    if (kind === 'follower') return follower.supervisorPid;
    const { workerPids } = kind === 'worker' ? service : follower;
    return workerPids.length === 0 ? undefined : this.#random.pick(workerPids);
  }

  /** Waits until all processes run, append and answer, at the acknowledged height or above. */
  async #untilWell(): Promise<void> {
    const { writer, service, secret, follower, followerSecret } = this.#parts;
    const { acknowledged } = writer;
    const areAll = () => writer.isHealthy && service.hasAllWorkers && follower.hasAllWorkers;
    await until('all processes', areAll, PATIENCE_MS);
    const isFresh = ({ status, headers }: Answer) =>
      status === 200 && Number(headers['ledger-height']) >= acknowledged;
    await untilAnswered(service, secret, isFresh);
    await untilAnswered(follower, followerSecret, ({ status }) => status === 200);
  }

  async #finish(): Promise<KillReport> {
    const { writer, service, follower, stub, load } = this.#parts;
    await Promise.all([writer.stop(), service.stop(), follower.stop()]);
    await stub.stop('SIGTERM');
    await this.#checkLedgers();
    this.#violations.push(...compareWithReplay(writer.lines, load.samples));
    const queried = await this.#checkQueries(load.samples);
    this.#violations.push(...this.#listLeftovers());
    const { answers, states, refusals, lost } = load;
    return {
      ...{ killsByKind: this.#killsByKind, hasty: this.#hasty, acknowledged: writer.acknowledged },
      ...{ answers, states, compared: load.samples.length, queried },
      ...{ followerAnswers: this.#followerAnswers, heads: this.#heads.size },
      ...{ refusals, lost, violations: this.#violations },
    };
  }

  /**
   * Checks that every block is in its ledger with the right hash, and that `verify` accepts both
   * ledgers.
   */
  async #checkLedgers(): Promise<void> {
    const { data, followed, writer } = this.#parts;
    for (const folder of [data, followed]) {
      const { code, stderr } = await run(['verify', '--data', folder]);
      if (code !== 0) this.#violations.push(`verify: ${stderr}`);
    }
    await this.#compareHashes(data, (height) => writer.hashAt(height));
    await this.#compareHashes(followed, (height) => this.#heads.get(height));
  }

  async #compareHashes(
    folder: string,
    expectedAt: (height: number) => Buffer | undefined,
  ): Promise<void> {
    const ledger = await openEmbeddedLedger(folder);
    const { height: last } = await ledger.head();
    for (let height = 1; height <= last; height++) {
      const expected = expectedAt(height);
      const point = await ledger.point(height);
      if (expected !== undefined && !point?.hash.equals(expected)) {
        this.#violations.push(`block ${height} in ${path.basename(folder)} has another hash`);
      }
    }
    const highest = folder === this.#parts.data ? this.#parts.writer.acknowledged : this.#headSeen;
    if (last < highest) this.#violations.push(`${path.basename(folder)} ends at ${last}`);
    await ledger.close();
  }

  get #headSeen(): number {
    return Math.max(0, ...this.#heads.keys());
  }

  async #checkQueries(samples: readonly Sample[]): Promise<number> {
    const some = Array.from({ length: Math.min(QUERIES, samples.length) }, () =>
      this.#random.pick(samples),
    );
    for (const { question, height, body } of some) {
      const { data } = this.#parts;
      const query = ['query', '--data', data, '--at', `${height}`, JSON.stringify(question)];
      const { stdout, stderr } = await run(query);
      if (stdout !== `${body}\n`) this.#violations.push(`query --at ${height}: ${stdout}${stderr}`);
    }
    return some.length;
  }

  /** Returns the processes that still run on the folder, and the sockets that are left in it. */
  #listLeftovers(): string[] {
    const processes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .filter((pid) => readCommand(pid).includes(this.#folder))
      .map((pid) => `process ${pid} is left: ${readCommand(pid)}`);
    const sockets = readdirSync(this.#folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => lstatSync(path.join(this.#folder, name)).isSocket())
      .map((name) => `the socket ${name} is left`);
    return [...processes, ...sockets];
  }
}

/**
 * Asks until an answer is good. If no answer is good in time, the error contains the last answer.
 */
async function untilAnswered(
  service: KeptService,
  secret: string,
  isGood: (answer: Answer) => boolean,
): Promise<void> {
  let last: Answer | undefined;
  try {
    const ask = async () => {
      last = await service.ask(secret, { type: 'allMids' });
      return last !== undefined && isGood(last);
    };
    await until('an answer', ask, PATIENCE_MS);
  } catch (error) {
    throw new Error(`${service.name} does not answer: ${last?.status} ${last?.body}`, {
      cause: error,
    });
  }
}

function readCommand(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // The process has just ended.
  }
}

/** Kills a process; returns false if it no longer exists. */
function killAtOnce(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

interface KillParts {
  readonly data: string;
  readonly followed: string;
  readonly writer: KeptWriter;
  readonly service: KeptService;
  readonly secret: string;
  readonly stub: RunningStub;
  readonly truth: Truth;
  readonly follower: KeptService;
  readonly followerSecret: string;
  readonly load: KillLoad;
  check(told: readonly FollowerAnswer[]): Promise<void>;
}

interface StartOptions {
  readonly folder: string;
  readonly seed: string;
  noteViolation(message: string): void;
}

async function startParts(context: Cleanup, options: StartOptions): Promise<KillParts> {
  const { folder, seed, noteViolation } = options;
  const data = path.join(folder, 'data');
  const writer = await KeptWriter.start({ data, seed, accounts: 30, noteViolation });
  context.after(() => writer.stop());
  const { secret } = await createKey(data);
  const service = await KeptService.start({
    ...{ name: 'the service', data, workers: 2, flags: [], noteViolation },
  });
  context.after(() => service.stop());
  const file = path.join(folder, 'exchange.ndjson');
  const stub = await RunningStub.start(context, { file, seed, ...EXCHANGE });
  const truth = new Truth(file);
  const followed = path.join(folder, 'followed');
  const { secret: followerSecret } = await createKey(followed);
  const flags = ['--follow', stub.url, ...FOLLOW_FLAGS, '--follow-users-max', '0'];
  const follower = await KeptService.start({
    ...{ name: 'the follower', data: followed, workers: 1, flags, noteViolation },
  });
  context.after(() => follower.stop());
  const random = new Random(`${seed}/load`);
  const load = new KillLoad({
    ...{ port: service.port, secret, users: writer.users, random, noteViolation },
  });
  context.after(() => load.stop());
  return {
    ...{ data, followed, writer, service, secret, stub, truth, follower, followerSecret, load },
    check: checkAgainst(stub, truth),
  };
}
