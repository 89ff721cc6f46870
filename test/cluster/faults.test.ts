/**
 * Three NATS servers, one writer and three replicas under load, while servers and processes are killed
 * or paused at random. Every answer must be right for the height that it names. In the end no
 * acknowledged block is missing, and every replica has the state of an undisturbed replay.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJetStreamLedger } from '../../src/ledger/jetstream/jetstream-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { restoreReplica, stateDigest } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { Random } from '../../src/simulator/random.ts';
import { createPlaces, joinLines, type Program, start } from '../../tools/harness/program.ts';
import { Client, type RunningService, until } from '../../tools/harness/running.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { collectBlocks } from '../ledger/chains.ts';
import { LONG_ONLY, scale } from '../scale.ts';
import { type NatsServer, type NatsServers, natsOptions, startNats } from './nats-servers.ts';
import {
  checkAllAnswers,
  createSharedKey,
  Oracle,
  RUN_MS_MAX,
  startReplica,
  untilHeight,
} from './replicas.ts';

const FAULTS = scale(3, 3, 30);
const PAUSES = 3;
const PAUSE_MS = 10_000;
const CHECKED_MIN = 1000;
const KINDS = ['leader', 'follower', 'writer', 'replica'] as const;
type Kind = (typeof KINDS)[number] | 'pause';
const NAME = 'faults';
const REPLICAS_FLAG = ['--nats-replicas', '3'];
/** Blocks per write to the writer's standard input, and the pause between writes. */
const FEED_BLOCKS = 3;
const FEED_MS = 150;
/** Time for a restarted server to catch up, on a busy machine. */
const WHOLE_MS_MAX = 60_000;
const LOOK_MS = 100;

const place = createPlaces();
const lines = simulateLines(3000, 'faults');

/** Feeds a writer, and starts another one after a kill. */
class Feeder {
  readonly #address: string;
  readonly #data = place();
  readonly #ledger: Ledger;
  #program: Program | undefined;
  #given = 0;
  #acknowledged = 0;
  #isDone = false;
  restarts = 0;
  readonly failures: string[] = [];

  constructor(address: string, ledger: Ledger) {
    this.#address = address;
    this.#ledger = ledger;
  }

  get given(): number {
    return this.#given;
  }

  get acknowledged(): number {
    return Math.max(this.#acknowledged, this.#program?.acknowledged ?? 0);
  }

  kill(): void {
    this.#program?.child.kill('SIGKILL');
  }

  stop(): void {
    this.#isDone = true;
  }

  /** Resolves after stop(), once every block that was fed is acknowledged. */
  async run(): Promise<void> {
    while (!this.#isDone || this.acknowledged < this.#given) await this.#runWriter();
  }

  /** A server that was paused may tell an old head, until it hears from the others. */
  async #untilHead() {
    return until(`a head with all ${this.acknowledged} that are acknowledged`, async () => {
      const head = await this.#ledger.head().catch(() => undefined);
      return head !== undefined && head.height >= this.acknowledged && head;
    });
  }

  async #runWriter(): Promise<void> {
    const head = await this.#untilHead();
    const flags = ['--ledger', this.#address, '--data', this.#data, '--snapshot-every', '500'];
    const program = start(['append', ...flags, ...REPLICAS_FLAG], {}, RUN_MS_MAX);
    this.#acknowledged = this.acknowledged;
    this.#program = program;
    this.#given = Math.max(head.height, this.#given);
    program.child.stdin.write(joinLines(lines.slice(head.height, this.#given)));
    let hasEnded = false;
    const ended = program.ended.then((outcome) => {
      hasEnded = true;
      return outcome;
    });
    while (!hasEnded && !this.#isDone) {
      const next = Math.min(this.#given + FEED_BLOCKS, lines.length);
      program.child.stdin.write(joinLines(lines.slice(this.#given, next)));
      this.#given = next;
      await sleep(FEED_MS);
    }
    program.child.stdin.end();
    const { code, signal, stderr } = await ended;
    this.#acknowledged = this.acknowledged;
    if (signal === 'SIGKILL' || (code === 0 && this.#isDone)) {
      if (signal === 'SIGKILL') this.restarts++;
      return;
    }
    // The only other reason to end: NATS was unreachable for longer than the retry limit.
    this.failures.push(stderr);
    assert.match(stderr, /NATS/);
  }
}

/** A replica that is queried continuously, and restarted after a kill. */
class Watched {
  readonly data = place();
  readonly #address: string;
  service: RunningService | undefined;
  #isDone = false;
  checked = 0;
  unanswered = 0;

  constructor(address: string) {
    this.#address = address;
  }

  async start(): Promise<void> {
    const flags = ['--max-age', '0', '--snapshot-every', '200', ...REPLICAS_FLAG];
    this.service = await until('a replica', () =>
      startReplica({ address: this.#address, data: this.data, flags }).catch((error: Error) => {
        // The cluster may have had no leader at that moment.
        assert.match(error.message, /NATS/);
        return undefined;
      }),
    );
  }

  async restart(): Promise<void> {
    const { service } = this;
    this.service = undefined;
    await service?.stop('SIGKILL');
    await this.start();
  }

  async askUntilDone(secret: string, oracle: Oracle, random: Random): Promise<void> {
    while (!this.#isDone) {
      const { service } = this;
      if (service === undefined) await sleep(50);
      else await this.#ask(service, secret, oracle, random);
    }
  }

  async #ask(service: RunningService, secret: string, oracle: Oracle, random: Random) {
    const client = new Client(service.port);
    try {
      for (let asked = 0; asked < 20 && !this.#isDone; asked++) {
        const index = Math.floor(random.between(0, oracle.questions.length - 0.001));
        const { status, headers, body } = await client.ask(secret, oracle.questions[index]);
        if (status === 200) {
          oracle.check(index, Number(headers['ledger-height']), body);
          this.checked++;
        } else {
          // Still restoring: the only acceptable reason for not answering.
          assert.deepEqual([status, JSON.parse(body).error], [503, 'not_ready'], body);
          this.unanswered++;
        }
        await sleep(10);
      }
    } catch (error) {
      if ((error as Error).name === 'AssertionError') throw error;
      this.unanswered++; // It was killed while it was asked.
      await sleep(50);
    } finally {
      client.close();
    }
  }

  stop(): void {
    this.#isDone = true;
  }
}

/** Injects faults one after the other, and waits for recovery after each. */
class Saboteur {
  readonly #nats: NatsServers;
  readonly #random: Random;
  readonly #feeder: Feeder;
  readonly #replicas: readonly Watched[];
  readonly counts: Record<Kind, number> = {
    leader: 0,
    follower: 0,
    writer: 0,
    replica: 0,
    pause: 0,
  };

  constructor(nats: NatsServers, random: Random, feeder: Feeder, replicas: readonly Watched[]) {
    this.#nats = nats;
    this.#random = random;
    this.#feeder = feeder;
    this.#replicas = replicas;
  }

  plan(): Kind[] {
    const pauses = Array.from({ length: PAUSES }, (): Kind => 'pause');
    const rest = Array.from({ length: FAULTS - PAUSES }, (_, index) => KINDS[index % KINDS.length]);
    const kinds = [...pauses, ...rest];
    for (let index = kinds.length - 1; index > 0; index--) {
      const other = Math.floor(this.#random.between(0, index + 0.999));
      [kinds[index], kinds[other]] = [kinds[other], kinds[index]];
    }
    return kinds;
  }

  async run(): Promise<void> {
    for (const kind of this.plan()) {
      await sleep(this.#random.between(50, 400));
      await this.#commit(kind);
      this.counts[kind]++;
    }
  }

  async #commit(kind: Kind): Promise<void> {
    if (kind === 'writer') return this.#feeder.kill();
    if (kind === 'replica') {
      const index = Math.floor(this.#random.between(0, this.#replicas.length - 0.001));
      return this.#replicas[index].restart();
    }
    const server = await this.#chooseServer(kind);
    if (kind === 'pause') {
      server.signal('SIGSTOP');
      await sleep(PAUSE_MS);
      server.signal('SIGCONT');
    } else {
      await server.kill();
      await sleep(this.#random.between(0, 1000));
      await server.start();
    }
    await this.#untilWhole(kind);
  }

  async #chooseServer(kind: Kind): Promise<NatsServer> {
    const leader = await until('a leader', async () => (await this.#info())?.cluster?.leader);
    const { servers } = this.#nats;
    const others = servers.filter(({ name }) => name !== leader);
    const chosen =
      kind === 'follower'
        ? others[Math.floor(this.#random.between(0, others.length - 0.001))]
        : kind === 'leader'
          ? servers.find(({ name }) => name === leader)
          : servers[Math.floor(this.#random.between(0, servers.length - 0.001))];
    assert.ok(chosen);
    return chosen;
  }

  /** Waits for all three servers: with two down, the third has no quorum and nothing is tested. */
  async #untilWhole(kind: Kind): Promise<void> {
    const deadlineMs = performance.now() + WHOLE_MS_MAX;
    for (;;) {
      const { cluster } = (await this.#info()) ?? {};
      const others = cluster?.replicas ?? [];
      if (others.length === 2 && others.every(({ current, offline }) => current && !offline))
        return;
      if (performance.now() > deadlineMs) {
        throw new Error(`not whole again after ${kind}: ${JSON.stringify(cluster)}`);
      }
      await sleep(LOOK_MS);
    }
  }

  async #info() {
    const link = await this.#nats.connect(NAME).catch(() => undefined);
    try {
      return await link?.manager.streams.info(NAME);
    } catch {
      return undefined;
    } finally {
      await link?.close();
    }
  }
}

test(
  `${FAULTS} random faults lose no acknowledged block and cause no wrong answer ${SEED_NOTE}`,
  LONG_ONLY,
  async (context) => {
    const random = new Random(`faults ${SEED}`);
    const oracle = new Oracle(lines);
    const nats = await startNats(3);
    context.after(() => nats.stop());
    const address = nats.address(NAME);
    const first = start(['append', '--ledger', address, ...REPLICAS_FLAG]);
    first.child.stdin.end(joinLines(lines.slice(0, 20)));
    assert.equal((await first.ended).code, 0, first.stderr);
    const { secret } = await createSharedKey(address);
    const ledger = await openJetStreamLedger(natsOptions(address, 3));
    context.after(() => ledger.close());
    const feeder = new Feeder(address, ledger);
    const replicas = [1, 2, 3].map(() => new Watched(address));
    context.after(async () => {
      feeder.stop();
      feeder.kill();
      for (const replica of replicas) {
        replica.stop();
        await replica.service?.stop('SIGKILL');
      }
    });
    await Promise.all(replicas.map((replica) => replica.start()));
    const saboteur = new Saboteur(nats, random, feeder, replicas);
    const feeding = feeder.run();
    const asking = replicas.map((replica, index) =>
      replica.askUntilDone(secret, oracle, new Random(`asking ${index} ${SEED}`)),
    );
    await Promise.race([saboteur.run(), feeding, ...asking]);
    assert.equal(
      Object.values(saboteur.counts).reduce((sum, count) => sum + count, 0),
      FAULTS,
    );
    feeder.stop();
    await feeding;
    for (const replica of replicas) replica.stop();
    await Promise.all(asking);

    const height = feeder.given;
    assert.equal(feeder.acknowledged, height);
    const stored = (await collectBlocks(ledger.read(0))).map(({ line }) => line.toString());
    assert.deepEqual(stored, lines.slice(0, height));
    for (const replica of replicas) {
      assert.ok(replica.service);
      await untilHeight(replica.service, height);
      await checkAllAnswers(replica.service, secret, oracle, height);
      const snapshots = new SnapshotFolder(replica.data);
      const restored = await restoreReplica({
        ledger,
        snapshots,
        warn: (text) => assert.fail(text),
      });
      assert.equal(stateDigest(restored.state), oracle.digest(height));
    }
    const checked = replicas.reduce((sum, replica) => sum + replica.checked, 0);
    const unanswered = replicas.reduce((sum, replica) => sum + replica.unanswered, 0);
    context.diagnostic(
      `${JSON.stringify(saboteur.counts)}; ${height} blocks; ${checked} answers checked, ` +
        `${unanswered} requests unanswered; the writer gave up ${feeder.failures.length} times${feeder.failures.map((text) => `; ${text.trim()}`)}`,
    );
    assert.ok(checked > CHECKED_MIN, `${checked} answers`);
  },
);
