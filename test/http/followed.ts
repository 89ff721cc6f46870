/** A service on a partial ledger, with a follower of the test's own behind every transport. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import type { Budget } from '../../src/config/budget.ts';
import type { QuestionBody } from '../../src/info/question.ts';
import { clearinghouseState } from '../../src/info/types/clearinghouse-state.ts';
import type {
  FollowedItem,
  FollowerClient,
  FollowerHandler,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from '../../src/upstream/channel/follower-client.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import { createKey, formatRequest } from '../../tools/harness/service.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import {
  FORWARDED_EXAMPLES,
  type ForwardedExample,
} from '../../tools/stub-exchange/forwarded-answers.ts';
import { connectPushAsker } from '../conformance/transports.ts';
import { openSteppedLedger, type SteppedLedger } from '../push/stepped-ledger.ts';
import { STATUS } from '../upstream/channel/conformance.ts';
import { connectInProcess } from '../upstream/channel/in-process.ts';
import { type ChangedSettings, createInProcess, listenLocally, openGround } from './in-process.ts';

/** The ledger is partial, and its lists of dexes and markets were read: there are no markets. */
const FIRST_READ = [
  { type: 'partial' },
  { type: 'dexes', list: [null] },
  { type: 'universe', dex: '', meta: { universe: [], marginTables: [], collateralToken: 0 } },
];

const EXAMPLES = new Map<unknown, ForwardedExample>(
  FORWARDED_EXAMPLES.map((example) => [example.type, example]),
);

/** The exchange's answer to a forwarded question. */
export function answerOfExchange(type: unknown): string {
  return JSON.stringify(EXAMPLES.get(type)?.answers[0]);
}

/** The exchange's own answer about an account. */
export function accountOfExchange(withdrawable: string): string {
  return JSON.stringify({ ...(clearinghouseState.example.answer as object), withdrawable });
}

export const ALICE = '0xa11ce00000000000000000000000000000000001';
export const BOB = '0xb0b0000000000000000000000000000000000002';
export const VALIDATOR = '0x0a11da7040000000000000000000000000000003';

/** The end of a user's account at the exchange: how reading it ends. */
type Scripted = (item: FollowedItem) => Promise<ItemOutcome>;

/** What the exchange answers to a forwarded question, as a text, or an outcome. */
type ScriptedForward =
  | {
      readonly outcome: 'answered';
      readonly status: number;
      readonly answer: string;
    }
  | ForwardOutcome;

function outcomeOf(scripted: ScriptedForward): ForwardOutcome {
  if (!('answer' in scripted)) return scripted;
  const { status, answer } = scripted;
  if (status !== 200) return { outcome: 'refused', reason: answer, isSent: true };
  const value: unknown = JSON.parse(answer);
  const rows = Array.isArray(value) ? value.length : undefined;
  return { outcome: 'answered', bytes: Buffer.from(answer), rows };
}

/** Reads accounts of an exchange that exists only here: everybody has the same cash. */
export class TestFollower implements FollowerHandler {
  readonly #ledger: SteppedLedger;
  readonly wants: { item: FollowedItem; maxAgeMs: number }[] = [];
  readonly interests: Interest[] = [];
  /** The keys that wants and forwarded questions came for. */
  readonly keyIds: string[] = [];
  /** By user, what becomes of a want; those of others are recorded. */
  readonly scripts = new Map<string, Scripted>();
  report: FollowStatus = STATUS;
  rawUsd = '12.5';

  constructor(ledger: SteppedLedger) {
    this.#ledger = ledger;
  }

  readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    this.keyIds.push(keyId);
    this.wants.push({ item, maxAgeMs });
    const script = this.scripts.get(item.user) ?? ((wanted) => this.record(wanted));
    return script(item);
  }

  /** Records an item as it is now. */
  async record(item: FollowedItem): Promise<ItemOutcome> {
    const height = await this.append(this.describe(item));
    return { outcome: 'recorded', height };
  }

  describe(item: FollowedItem): object {
    if (item.kind === 'account') {
      return {
        type: 'account',
        user: item.user,
        dex: item.dex,
        rawUsd: this.rawUsd,
        positions: [],
      };
    }
    const delegation = { validator: VALIDATOR, amount: '3.0', lockedUntilTimestamp: 0 };
    return { type: 'delegations', user: item.user, delegations: [delegation] };
  }

  async append(...events: object[]): Promise<number> {
    const { height, time } = this.#ledger.state;
    const line = { height: height + 1, time: Math.max(time + 1, Date.now()), events };
    await this.#ledger.append(JSON.stringify(line));
    return height + 1;
  }

  noteInterest(interests: readonly Interest[]): void {
    this.interests.push(...interests);
  }

  readonly forwarded: QuestionBody[] = [];
  answerForwarded: (question: QuestionBody) => Promise<ScriptedForward> = async ({ type }) => ({
    outcome: 'answered',
    status: 200,
    answer: answerOfExchange(type),
  });

  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    this.keyIds.push(keyId);
    this.forwarded.push(question);
    return outcomeOf(await this.answerForwarded(question));
  }

  status(): FollowStatus {
    return this.report;
  }
}

export interface FollowedOptions {
  readonly settings?: ChangedSettings;
  readonly budget?: Budget;
  /** Stands in for the way to the follower. */
  wrap?(client: FollowerClient): FollowerClient;
  /** The events of the first block; by default those that a follower begins with. */
  readonly first?: readonly object[];
}

interface Answered {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface Followed {
  readonly follower: TestFollower;
  readonly ledger: SteppedLedger;
  readonly key: string;
  /** By transport of HTTP. */
  readonly ports: { readonly lane: number; readonly node: number };
  readonly registry: Registry;
  readonly logged: readonly unknown[];
  ask(question: object, headers?: Record<string, string>, port?: number): Promise<Answered>;
  /** A GET of the question in a query string. */
  query(text: string, port?: number): Promise<Answered>;
  /** The payload of the response to a post. */
  post(question: object): Promise<unknown>;
}

export async function openFollowed(
  context: TestContext,
  { settings = {}, budget, wrap = (client) => client, first }: FollowedOptions = {},
): Promise<Followed> {
  const closers: (() => Promise<void> | void)[] = [];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const folder = await makeTemporaryFolder(context);
  const ledger = await openSteppedLedger(context, folder);
  const follower = new TestFollower(ledger);
  await follower.append(...(first ?? FIRST_READ));
  const key = await createKey(folder, budget);
  const wanted = wrap(connectInProcess(follower));
  closers.push(() => wanted.close());
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  const open = async (noFastLane: boolean) => {
    const changed = { pushInterval: 0, ...settings, noFastLane };
    const service = createInProcess(ground, { settings: changed, follower: wanted });
    closers.push(service.close);
    return { ...service, port: await listenLocally(service.server) };
  };
  const [lane, node] = [await open(false), await open(true)];
  await ground.live.restored;
  const ask = (question: object, headers = {}, port = lane.port) =>
    exchange(
      port,
      formatRequest({ path: `/${key}/info`, headers, body: JSON.stringify(question) }),
    );
  const query = (text: string, port = lane.port) =>
    exchange(port, formatRequest({ method: 'GET', path: `/${key}/info?${text}` }));
  const post = async (question: object) => {
    const asker = await connectPushAsker({ name: 'push', ...lane }, key);
    const frame = await asker.post(question);
    asker.close();
    return JSON.parse(frame).data.response.payload;
  };
  const ports = { lane: lane.port, node: node.port };
  const { registry, logged } = lane;
  return { follower, ledger, key, ports, registry, logged, ask, query, post };
}

/** Accounts that nobody has asked for; none is read before all may be. */
export function addStrangers(
  { scripts }: TestFollower,
  count: number,
): { users: string[]; allow(): void } {
  let allow: () => void = () => undefined;
  const allowed = new Promise<void>((resolve) => {
    allow = resolve;
  });
  const users = Array.from({ length: count }, (_, index) => `0x5${`${index}`.padStart(39, '0')}`);
  for (const user of users) {
    scripts.set(user, async () => {
      await allowed;
      return { outcome: 'upstream', answer: accountOfExchange('9.0'), time: 17 };
    });
  }
  return { users, allow };
}

export async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) assert.fail(`still waiting for ${condition}`);
    await sleep(5);
  }
}
