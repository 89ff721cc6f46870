/** A demo that runs, and the ledger that it keeps: what a client was told is computed again from it. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/registry.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Replica } from '../../src/replica/replica.ts';
import type { StateView } from '../../src/state/state.ts';
import { start } from '../cli/program.ts';
import { restoreFrom } from '../replica/data-directory.ts';
import { type Cleanup, Client, until } from '../service/running.ts';

/** A demo runs for as long as its tests take. */
const RUN_MS_MAX = 200_000;
/** How a busy machine slows the service down is not what is tested. */
const PATIENCE = { PERPINFO_OVERLOAD_DELAY: '60000' };
const FLAGS = ['--port', '0', '--accounts', '60', '--seed', 'clients'];
const PRINTED =
  /clients {3}(?<base>http:\/\/127\.0\.0\.1:(?<port>\d+)\/(?<secret>\S+)\/) .*\n {2}users {5}(?<trader>0x\w{40}) .*\n\s*(?<staker>0x\w{40}) /;

export type User = `0x${string}`;
export type Question = Readonly<Record<string, unknown>>;
/** Its form is that of its question. */
type Answer = ReturnType<typeof JSON.parse>;

/** What a client was told, and the heights at which it may have been true. */
export interface Told<T> {
  readonly value: T;
  readonly first: number;
  readonly last: number;
}

export class Demo {
  readonly data: string;
  readonly #ledger: Ledger;
  readonly #client: Client;
  readonly #closers: (() => unknown)[] = [];
  readonly #secret: string;
  /** The address that clients are given: with the key and the slash behind it. */
  readonly base: string;
  readonly trader: User;
  readonly staker: User;
  /** Moves forward; where it is too far, another one is begun. */
  #replica: Replica | undefined;

  constructor(output: string, ledger: Ledger, data: string) {
    const printed = PRINTED.exec(output)?.groups;
    assert.ok(printed, output);
    this.#ledger = ledger;
    this.data = data;
    this.#client = new Client(Number(printed['port']));
    this.#secret = printed['secret'];
    this.base = printed['base'];
    this.trader = printed['trader'] as User;
    this.staker = printed['staker'] as User;
  }

  get pushAddress(): string {
    return `${this.base.replace('http:', 'ws:')}ws`;
  }

  /** The height that it answers from. */
  async height(): Promise<number> {
    const { headers } = await this.#client.ask(this.#secret, { type: 'exchangeStatus' });
    return Number(headers['ledger-height'] ?? 0);
  }

  async stateAt(height: number): Promise<StateView> {
    if (this.#replica === undefined || this.#replica.point.height > height) {
      this.#replica = (await restoreFrom(this.#ledger, this.data, height)).replica;
    }
    const replica = this.#replica;
    for await (const batch of this.#ledger.read(replica.point.height, height)) {
      for (const block of batch) replica.apply(block);
    }
    assert.equal(replica.point.height, height);
    return replica.state;
  }

  async answerAt(height: number, question: Question): Promise<Answer> {
    return JSON.parse(answerQuestion(await this.stateAt(height), question));
  }

  /** The height of the block with this time. */
  async heightAt(time: number): Promise<number> {
    const head = await this.#ledger.head();
    for await (const batch of this.#ledger.read(0, head.height)) {
      const block = batch.find(({ line }) => JSON.parse(line.toString()).time === time);
      if (block !== undefined) return block.height;
    }
    throw new Error(`no block has the time ${time}`);
  }

  /** Everyone whom the ledger knows. */
  async users(): Promise<User[]> {
    const { addresses } = await this.stateAt(await this.height());
    const count = addresses.table.rowCount - 1;
    return Array.from(
      { length: count },
      (_, index) => formatAddress(addresses.addressOf(index + 1)) as User,
    );
  }

  /** Someone else who holds several positions on a dex. */
  async holderOn(dex: string, other: User): Promise<User> {
    const users = await this.users();
    const state = await this.stateAt(await this.height());
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
    const value = await ask();
    return { value, first, last: await this.height() };
  }

  /** Asserts that it follows from the ledger's answer at one of its heights. */
  async assertTold<T>(
    { value, first, last }: Told<T>,
    question: Question,
    expectedOf: (answer: Answer) => unknown = (answer) => answer,
  ): Promise<void> {
    for (let height = first; height <= last; height++) {
      const expected = expectedOf(await this.answerAt(height, question));
      if (isDeepStrictEqual(value, expected)) return;
      if (height === last) assert.deepEqual(value, expected);
    }
  }

  /** Clients are closed before the demo ends, so that none tries to reach it again. */
  closeFirst(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
    this.#client.close();
    await this.#ledger.close();
  }
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
  const started = new Demo(program.stdout, await openEmbeddedLedger(data), data);
  demo = started;
  await until('the demo to answer', async () => (await started.height()) > 0);
  return started;
}
