/**
 * A demo that runs, and the ledger that it keeps: what a client was told is computed again from it. Where
 * demos are to be followed, clients ask a follower of the demo, which has a ledger of its own.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import type { StateView } from '../../src/state/state.ts';
import { startCheckingProxy } from '../../tools/harness/checking-proxy.ts';
import { start } from '../../tools/harness/program.ts';
import { type Cleanup, Client, until } from '../../tools/harness/running.ts';
import { followPerpinfo, isFollowed } from '../follow/perpinfo-upstream.ts';
import { type Answer, type Question, ReadLedger } from './read-ledger.ts';

/** A demo runs for as long as its tests take. */
const RUN_MS_MAX = isFollowed ? 400_000 : 200_000;
/** How a busy machine slows the service down is not what is tested. */
const PATIENCE = { PERPINFO_OVERLOAD_DELAY: '60000' };
const FLAGS = ['--port', '0', '--accounts', '60', '--seed', 'clients'];
const PRINTED =
  /clients {3}http:\/\/127\.0\.0\.1:(?<port>\d+)\/(?<secret>\S+)\/ .*\n {2}users {5}(?<trader>0x\w{40}) .*\n\s*(?<staker>0x\w{40}) /;

/** How far back an answer of the demo's own may be from: it is kept for a second, and was waited for. */
const SOURCE_BLOCKS = 80;

export type User = `0x${string}`;

/** What a client was told, and the heights at which it may have been true. */
export interface Told<T> {
  readonly value: T;
  readonly first: number;
  readonly last: number;
  /** The same of the demo's ledger, if it is followed. */
  readonly source?: { readonly first: number; readonly last: number };
}

/** What is asked, and where the answers are kept. */
interface Place {
  readonly port: number;
  readonly secret: string;
  readonly ledger: ReadLedger;
}

export class Demo {
  readonly #place: Place;
  /** The demo's own, which a follower reads. */
  readonly #source: ReadLedger;
  readonly #client: Client;
  readonly #closers: (() => unknown)[] = [];
  readonly trader: User;
  readonly staker: User;

  constructor(place: Place, source: ReadLedger, users: { trader: string; staker: string }) {
    this.#place = place;
    this.#source = source;
    this.#client = new Client(place.port);
    this.trader = users.trader as User;
    this.staker = users.staker as User;
  }

  get data(): string {
    return this.#place.ledger.data;
  }

  /** The address that clients are given: with the key and the slash behind it. */
  get base(): string {
    return `http://127.0.0.1:${this.#place.port}/${this.#place.secret}/`;
  }

  get pushAddress(): string {
    return `${this.base.replace('http:', 'ws:')}ws`;
  }

  /** The height that it answers from. */
  async height(): Promise<number> {
    const { headers } = await this.#client.ask(this.#place.secret, { type: 'exchangeStatus' });
    return Number(headers['ledger-height'] ?? 0);
  }

  stateAt(height: number): Promise<StateView> {
    return this.#place.ledger.stateAt(height);
  }

  answerAt(height: number, question: Question): Promise<Answer> {
    return this.#place.ledger.answerAt(height, question);
  }

  /**
   * The answers at this time: more than one, if blocks have the same time or the demo is followed. And
   * those of so many blocks before.
   */
  async answersAt(time: number, question: Question, earlier = 0): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const ledger of new Set([this.#place.ledger, this.#source])) {
      for (const height of await ledger.heightsAt(time)) {
        for await (const answer of ledger.answersFrom(
          Math.max(1, height - earlier),
          height,
          question,
        )) {
          answers.push(answer);
        }
      }
    }
    return answers;
  }

  /** Everyone whom the demo knows. */
  async users(): Promise<User[]> {
    const { addresses } = await this.#source.stateAt(await this.#source.height());
    const count = addresses.table.rowCount - 1;
    return Array.from(
      { length: count },
      (_, index) => formatAddress(addresses.addressOf(index + 1)) as User,
    );
  }

  /** Someone else who holds several positions on a dex. */
  async holderOn(dex: string, other: User): Promise<User> {
    const users = await this.users();
    const state = await this.#source.stateAt(await this.#source.height());
    const holder = users.find((user) => {
      if (user === other) return false;
      const answer = answerQuestion(state, { type: 'clearinghouseState', user, dex });
      return JSON.parse(answer).assetPositions.length > 1;
    });
    assert.ok(holder);
    return holder;
  }

  /** Lets a client ask, and notes between which heights it was answered. */
  async tell<T>(ask: () => Promise<T>): Promise<Told<T>> {
    const first = await this.height();
    const sourceFirst = Math.max(1, (await this.#source.height()) - SOURCE_BLOCKS);
    const value = await ask();
    const told = { value, first, last: await this.height() };
    if (!isFollowed) return told;
    return { ...told, source: { first: sourceFirst, last: await this.#source.height() } };
  }

  /** Asserts that it follows from the ledger's answer at one of its heights. */
  async assertTold<T>(
    { value, first, last, source }: Told<T>,
    question: Question,
    expectedOf: (answer: Answer) => unknown = (answer) => answer,
  ): Promise<void> {
    let expected: unknown;
    for await (const answer of this.#place.ledger.answersFrom(first, last, question)) {
      expected = expectedOf(answer);
      if (isDeepStrictEqual(value, expected)) return;
    }
    // What the follower does not record, it answers as the demo does.
    const { first: from, last: to } = source ?? { first: 1, last: 0 };
    for await (const answer of this.#source.answersFrom(from, to, question)) {
      expected = expectedOf(answer);
      if (isDeepStrictEqual(value, expected)) return;
    }
    assert.deepEqual(value, expected);
  }

  /** Clients are closed before the demo ends, so that none tries to reach it again. */
  closeFirst(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
    this.#client.close();
    for (const ledger of new Set([this.#place.ledger, this.#source])) await ledger.close();
  }

  /** A follower has markets and the auction only when it has read them. */
  async untilReady(): Promise<void> {
    await until('the demo to answer', async () => (await this.height()) > 0);
    if (!isFollowed) return;
    const { markets, auction } = await this.#source.stateAt(await this.#source.height());
    await until('the follower to have read the markets and the auction', async () => {
      const held = await this.stateAt(await this.height());
      const isComplete = held.markets.markets.length >= markets.markets.length;
      return isComplete && (held.auction === undefined) === (auction === undefined);
    });
  }
}

/** A follower of the demo; it is gone when the tests are. */
async function startFollower(context: Cleanup, port: number, source: string): Promise<Place> {
  const data = `${source}-followed`;
  // As fast as the demo: one client takes two messages at a time for one.
  const flags = ['--forward'];
  const follower = await followPerpinfo(context, { port, data: source }, data, ...flags);
  context.after(() => rm(data, { recursive: true, force: true }));
  const { service, secret } = follower;
  return { port: service.port, secret, ledger: await ReadLedger.open(data) };
}

/** Starts a demo; it is gone when the tests are, and its folder with it. */
export async function startDemo(context: Cleanup, ...flags: string[]): Promise<Demo> {
  const data = await mkdtemp(path.join(tmpdir(), 'perpinfo-test-'));
  const program = start(['demo', '--data', data, ...FLAGS, ...flags], PATIENCE, RUN_MS_MAX);
  let demo: Demo | undefined;
  context.after(async () => {
    await demo?.close();
    program.child.kill('SIGINT');
    const { code, stderr } = await program.ended;
    await rm(data, { recursive: true, force: true });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });
  await program.untilWritten('Ctrl-C');
  const printed = PRINTED.exec(program.stdout)?.groups;
  assert.ok(printed, program.stdout);
  const { secret, trader, staker } = printed;
  const port = Number(printed['port']);
  const source = await ReadLedger.open(data);
  const own = { port, secret, ledger: source };
  const answering = isFollowed ? await startFollower(context, port, data) : own;
  const place = { ...answering, port: await startCheckingProxy(context, answering.port) };
  const started = new Demo(place, source, { trader, staker });
  demo = started;
  await started.untilReady();
  return started;
}
