/**
 * Two services on the same ground, one with the fast lane and one without, and conversations that
 * are held with both at once: every byte of what they say has to be the same, and so has to be
 * whether they go on listening afterwards.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { RefusalRateLimit } from '../../src/http/answering/limits/refusal-rate-limit.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import type { LiveState } from '../../src/replica/live-state.ts';
import type { StateView } from '../../src/state/state.ts';
import { type Cleanup, HEIGHT, prepareData } from '../../tools/harness/service.ts';
import {
  type ChangedSettings,
  createInProcess,
  openGround,
  type Standing as Side,
} from '../http/in-process.ts';
import { MemorySocket, type Standing } from './memory-socket.ts';

/** Conversations in parallel. Each has its own keys, since budgets depend on the order of requests. */
export const PLACES = 24;

/** So small that what is over them is short. */
export const LIMITS = { bodyBytesMax: 1024, headerBytesMax: 2048 } as const;

const LIMIT_SETTINGS: ChangedSettings = {
  ...LIMITS,
  minHeightWait: 1,
  // How long anything takes is not looked at here, and the clock may jump: nobody is pinged.
  idleTimeout: 86_400_000,
  // Node's clock does not stand still.
  headerTimeout: 3_600_000,
  requestTimeout: 3_600_000,
};

// Nor is the pace of refusals: it is that of the machine's clock (http/answering/refusal-rate-limit.test.ts).
RefusalRateLimit.prototype.pass = (reply) => reply;

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** A key that can pay for a few questions, and one that can pay for one. */
const BUDGET = { weight: 60, periodMs: MINUTE_MS };
const SMALL_BUDGET = { weight: 20, periodMs: HOUR_MS };

/** The keys that a conversation may use. */
export interface KeySet {
  readonly free: string;
  readonly budgeted: string;
  readonly small: string;
  readonly expired: string;
}

export interface BothLanes {
  readonly fast: Side;
  readonly plain: Side;
  readonly keySets: readonly KeySet[];
  /** Addresses that the ledger knows. */
  readonly users: readonly string[];
  readonly dexes: readonly string[];
  /** Numbers of margin tables. */
  readonly tables: readonly number[];
  readonly waits: HeldWaits;
}

interface LaneChanges {
  readonly settings?: ChangedSettings;
}

export async function openBothLanes(
  context: Cleanup,
  { settings: changed = {} }: LaneChanges = {},
): Promise<BothLanes> {
  const { folder, key } = await prepareData(context);
  const keySets = await createKeySets(folder, key);
  const ground = await openGround(folder);
  const waits = new HeldWaits(ground.live);
  const settings = { ...LIMIT_SETTINGS, ...changed };
  const [fast, plain] = [false, true].map((noFastLane) =>
    createInProcess(ground, { settings: { ...settings, noFastLane } }),
  );
  context.after(async () => {
    fast.close();
    plain.close();
    await ground.close();
  });
  while (ground.live.state?.height !== HEIGHT) await sleep(5);
  return { fast, plain, keySets, waits, ...describeState(ground.live.state) };
}

async function createKeySets(folder: string, free: string): Promise<KeySet[]> {
  const store = await openEmbeddedKeys(folder);
  const create = (budget?: typeof BUDGET, expiresMs?: number) =>
    store.create({ label: 'lane', budget, expiresMs }).secret;
  const expired = create(undefined, 1);
  const sets = Array.from({ length: PLACES }, () => ({
    ...{ free, expired },
    budgeted: create(BUDGET),
    small: create(SMALL_BUDGET),
  }));
  await store.close();
  return sets;
}

function describeState(state: StateView): Pick<BothLanes, 'users' | 'dexes' | 'tables'> {
  const { addresses, markets } = state;
  const meta = answerQuestion(state, { type: 'meta' });
  return {
    users: Array.from({ length: 12 }, (_, row) => formatAddress(addresses.addressOf(row + 1))),
    dexes: markets.dexes.map(({ name }) => name),
    tables: Array.from(meta.matchAll(/"marginTableId":(\d+)/g), ([, id]) => Number(id)),
  };
}

/**
 * Requests that wait for a block which does not come. How long is not left to a timer, or it would
 * depend on luck which of two requests gets its answer first: they wait until all conversations do.
 */
class HeldWaits {
  readonly #held: (() => void)[] = [];
  /** Conversations that go on only after what is held. */
  readonly #stuck: (() => void)[] = [];
  #talking = 0;
  #isHolding = true;

  constructor(live: LiveState) {
    const waitFor = live.waitFor.bind(live);
    Object.defineProperty(live, 'waitFor', {
      value: (height: number, timeoutMs: number): Promise<void> => {
        if ((live.state?.height ?? 0) >= height) return waitFor(height, timeoutMs);
        if (!this.#isHolding) return Promise.resolve();
        return new Promise((resolve) => this.#held.push(resolve));
      },
    });
  }

  /** From now on what does not come is not waited for at all. */
  holdNothing(): void {
    this.#isHolding = false;
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  begin(): void {
    this.#talking++;
  }

  end(): void {
    this.#talking--;
    this.#releaseIfStuck();
  }

  /** Resolves when what is held has been let go. */
  released(): Promise<void> {
    return new Promise((resolve) => {
      this.#stuck.push(resolve);
      this.#releaseIfStuck();
    });
  }

  #releaseIfStuck(): void {
    if (this.#stuck.length < this.#talking) return;
    for (const goOn of [...this.#held.splice(0), ...this.#stuck.splice(0)]) goOn();
  }
}

/** Bytes that arrive as one read. */
export interface Read {
  readonly bytes: Buffer;
  /** Whether the client then waits for all that it is told, before it sends more. */
  readonly isAwaited: boolean;
}

export interface Conversation {
  readonly reads: readonly Read[];
  readonly ending: 'stays' | 'hangs up' | 'resets';
  /** Whether the client takes its time to read. */
  readonly isSlow: boolean;
}

/** What a client knows at a moment at which nothing more will happen by itself. */
interface Sight {
  readonly text: string;
  readonly standing: Standing;
}

/** A turn of the event loop, as a read has one of its own. */
function inTurn(act: () => void): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      act();
      resolve();
    });
  });
}

/** More than anything takes to go on: a turn to be read, one to be fed, one to be sent, and again. */
const QUIET_TURNS = 10;

type Lanes = Pick<BothLanes, 'fast' | 'plain' | 'waits'>;

/** A conversation with both that is under way: what both have said has to be the same. */
function openConversation({ fast, plain, waits }: Lanes, isSlow: boolean) {
  const lines = [fast, plain].map(({ server }) => {
    const socket = new MemorySocket({ isSlow });
    server.emit('connection', socket);
    return socket;
  });
  const each = async (act: (line: MemorySocket) => void) => {
    for (const line of lines) {
      await inTurn(() => undefined);
      act(line);
    }
  };
  waits.begin();
  return {
    /** One read. */
    deliver: (bytes: Buffer) => each((line) => line.deliver(bytes)),
    end: (how: 'hangs up' | 'resets') =>
      each((line) => (how === 'hangs up' ? line.hangUp() : line.reset())),
    /** Waits until nothing more happens, and returns what both have said. */
    async settle(): Promise<Sight> {
      await untilQuiet(lines);
      while (waits.isHolding) {
        await waits.released();
        await untilQuiet(lines);
      }
      return checkSame(lines);
    },
    close() {
      for (const line of lines) line.destroy();
      waits.end();
    },
  };
}

async function untilQuiet(lines: readonly MemorySocket[]): Promise<void> {
  let known = -1;
  for (let turns = 0; turns < QUIET_TURNS; turns++) {
    await inTurn(() => undefined);
    const progress = lines.reduce((sum, line) => sum + line.bytesWritten, 0);
    if (progress !== known) turns = -1;
    known = progress;
  }
}

/** Holds the conversation with both; returns what was said, after checking that it is the same. */
export async function compare(lanes: Lanes, conversation: Conversation): Promise<Sight> {
  const { reads, ending } = conversation;
  const open = openConversation(lanes, conversation.isSlow);
  try {
    // The server begins to read in a turn of its own, as with a socket.
    await inTurn(() => undefined);
    for (const { bytes, isAwaited } of reads) {
      await open.deliver(bytes);
      if (isAwaited) await open.settle();
    }
    const sight = await open.settle();
    if (ending === 'stays') return sight;
    await open.end(ending);
    await open.settle();
    return sight;
  } catch (error) {
    const to = describeConversation(conversation);
    throw new Error(`${(error as Error).message}\nto ${to}`, { cause: error });
  } finally {
    open.close();
  }
}

const DATE = /^Date: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r$/gm;

/** Dates apart, which may be those of two seconds, all is told as it was written. */
export function withoutDates(text: string): string {
  return text.replaceAll(DATE, 'Date: *\r');
}

function checkSame(lines: readonly MemorySocket[]): Sight {
  const [fast, plain] = lines.map(({ text, standing }) => ({
    text: withoutDates(text),
    standing,
  }));
  if (fast.text === plain.text && fast.standing === plain.standing) return plain;
  const place = findDifference(fast.text, plain.text);
  const [shownFast, shownPlain] = [fast, plain].map(
    ({ text, standing }) =>
      `${JSON.stringify(text.slice(Math.max(0, place - 300), place + 100))}, ${standing}`,
  );
  assert.fail(
    `at byte ${place} the fast lane says\n  ${shownFast}\nand the plain one\n  ${shownPlain}`,
  );
}

function findDifference(one: string, other: string): number {
  let place = 0;
  while (place < one.length && one[place] === other[place]) place++;
  return place;
}

const SHOWN_READS_MAX = 40;

export function describeConversation(conversation: Conversation): string {
  const { reads, ending, isSlow } = conversation;
  const lines = reads
    .slice(0, SHOWN_READS_MAX)
    .map(
      ({ bytes, isAwaited }) =>
        `  ${JSON.stringify(bytes.toString('latin1'))}${isAwaited ? ' and waits' : ''}`,
    );
  const more =
    reads.length > SHOWN_READS_MAX ? `\n  and ${reads.length - SHOWN_READS_MAX} more` : '';
  return `a ${isSlow ? 'slow' : 'quick'} client that sends\n${lines.join('\n')}${more}\n  and ${ending}`;
}
