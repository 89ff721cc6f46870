/** The clients that ask and listen while processes are killed, and the answers that they got. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import type { Random } from '../../src/simulator/random.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { openSocket, type PushedState } from '../harness/push-client.ts';
import { WatchedClient } from '../harness/watched-client.ts';

const ASK_MS = 40;
/** One of this many answers, and one of this many pushed states, is compared. */
const KEPT_OF_ANSWERS = 8;
const KEPT_OF_STATES = 8;
const PUSH_SUBSCRIPTIONS = 6;
const PUSH_AGAIN_MS = 50;
/** The status of a service that is starting and not ready. */
const NOT_READY = 503;

/** An answer or a pushed state at a height. */
export interface Sample {
  readonly question: Readonly<Record<string, unknown>>;
  readonly height: number;
  readonly body: string;
}

export interface KillLoadOptions {
  readonly port: number;
  readonly secret: string;
  readonly users: readonly string[];
  readonly random: Random;
  noteViolation(message: string): void;
}

export class KillLoad {
  readonly #options: KillLoadOptions;
  readonly samples: Sample[] = [];
  answers = 0;
  refusals = 0;
  states = 0;
  /** The number of requests and push connections that a kill has interrupted. */
  lost = 0;
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: KillLoadOptions) {
    this.#options = options;
  }

  start(clients: number, pushClients: number): void {
    this.#running = Promise.all([
      ...Array.from({ length: clients }, () => this.#askForever()),
      ...Array.from({ length: pushClients }, () => this.#listenForever()),
    ]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  #drawQuestion(): Sample['question'] {
    const { random, users } = this.#options;
    const type = random.pick(['clearinghouseState', 'delegations', 'webData2', 'allMids']);
    if (type === 'allMids') return { type };
    return { type, user: random.pick(users) };
  }

  async #askForever(): Promise<void> {
    const { port, secret, noteViolation } = this.#options;
    const client = new WatchedClient({ port, secret, wentBack: noteViolation });
    while (!this.#isOver) {
      const question = this.#drawQuestion();
      const answer = await client.ask(question).catch(() => undefined);
      if (answer === undefined) this.lost++;
      else if (answer.status === NOT_READY) this.refusals++;
      else if (answer.status !== 200) noteViolation(`${answer.status}: ${answer.body}`);
      else this.#keep(question, Number(answer.headers['ledger-height']), answer.body);
      await sleep(ASK_MS);
    }
    client.close();
  }

  #keep(question: Sample['question'], height: number, body: string): void {
    if (this.answers++ % KEPT_OF_ANSWERS === 0) this.samples.push({ question, height, body });
  }

  async #listenForever(): Promise<void> {
    while (!this.#isOver) {
      await this.#listen();
      await sleep(PUSH_AGAIN_MS);
    }
  }

  /** Opens one push connection, and listens until the connection is cut. */
  #listen(): Promise<void> {
    const { port, secret, users, random } = this.#options;
    const socket = openSocket({ port, key: secret });
    const first = random.below(users.length);
    const heights = new Map<string, number>();
    socket.on('open', () => {
      for (let index = first; index < first + PUSH_SUBSCRIPTIONS; index++) {
        const subscription = { type: 'clearinghouseState', user: users[index % users.length] };
        socket.send(JSON.stringify({ method: 'subscribe', subscription }));
      }
    });
    socket.on('message', (bytes) => {
      const { channel, data } = JSON.parse(bytes.toString());
      if (channel === 'clearinghouseState') this.#takeState(data, heights);
    });
    return new Promise((resolve) => {
      const look = setInterval(() => this.#isOver && socket.terminate(), 100);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(look);
        if (!this.#isOver) this.lost++;
        resolve();
      });
    });
  }

  #takeState(state: PushedState, heights: Map<string, number>): void {
    const { user, dex, height, clearinghouseState } = state;
    const last = heights.get(user) ?? 0;
    if (height < last) this.#options.noteViolation(`pushed height ${height} after ${last}`);
    heights.set(user, height);
    if (this.states++ % KEPT_OF_STATES !== 0) return;
    const question = { type: 'clearinghouseState', user, dex };
    this.samples.push({ question, height, body: JSON.stringify(clearinghouseState) });
  }
}

/**
 * Replays the blocks from the first block, and compares the answers with the replayed state;
 * returns the differences.
 */
export function compareWithReplay(lines: readonly string[], samples: readonly Sample[]): string[] {
  const wrong: string[] = [];
  const sorted = [...samples].sort((a, b) => a.height - b.height);
  const state = createState();
  let next = 0;
  for (const line of lines) {
    applyBlock(state, parseBlock(line));
    for (; sorted[next]?.height === state.height; next++) {
      const { question, height, body } = sorted[next];
      const expected = answerQuestion(state, question);
      if (!isSameJson(body, expected)) {
        wrong.push(`at ${height}, to ${JSON.stringify(question)}: ${body}, expected ${expected}`);
      }
    }
  }
  for (const { height } of sorted.slice(next)) wrong.push(`answered at ${height}: no such block`);
  return wrong;
}

function isSameJson(one: string, other: string): boolean {
  if (one === other) return true;
  try {
    assert.deepEqual(JSON.parse(one), JSON.parse(other));
    return true;
  } catch {
    return false;
  }
}
