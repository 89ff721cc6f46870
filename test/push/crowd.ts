/**
 * A crowd of push clients in one process. They must be light, since they share the machine with the
 * service: only the first frame of a subscription is parsed. What is needed of others is found in their text:
 *
 *   {"channel":"clearinghouseState","data":{"user":"0x...","dex":"","clearinghouseState":
 *   {...,"time":T},"height":N,"time":T}}
 */

import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { Random } from '../../src/simulator/random.ts';
import { checkFrame } from '../../tools/harness/answer-checks.ts';

const HEAD = '{"channel":"clearinghouseState","data":{';
const STATE = ',"clearinghouseState":';
const HEIGHT = ',"height":';
const TIME = '"time":';
const ACK = '{"channel":"subscriptionResponse"';

/** Maximum number of handshakes in flight. */
const OPENING_MAX = 50;
/** More would only repeat what the first ones say. */
const FAULTS_MAX = 20;
/** What a process has open apart from connections, with room. */
const OTHER_FILES = 200;

/** What one subscription asks for. */
export interface Wish {
  readonly user: string;
  readonly dex: string;
}

export interface PushAddress {
  readonly port: number;
  readonly secret: string;
  /** The time between two states of a subscription that the clients ask for. */
  readonly intervalMs?: number;
}

/** A state as it came, its time left aside. */
export interface Update {
  /** The user and the dex, as the frame spells them. */
  readonly name: string;
  readonly content: string;
  readonly height: number;
  readonly time: number;
}

/** An answer apart from its time, which comes last in it. */
export function contentOf(answer: string): string {
  return answer.slice(0, answer.lastIndexOf(TIME));
}

/** What a frame says, or undefined where it is not a state. */
function readUpdate(text: string): Update | undefined {
  if (!text.startsWith(HEAD)) return undefined;
  const stateAt = text.indexOf(STATE, HEAD.length);
  const heightAt = text.lastIndexOf(HEIGHT);
  const timeAt = text.lastIndexOf(TIME);
  return {
    name: text.slice(HEAD.length, stateAt),
    content: contentOf(text.slice(stateAt + STATE.length, heightAt)),
    height: Number.parseInt(text.slice(heightAt + HEIGHT.length, timeAt), 10),
    time: Number.parseInt(text.slice(timeAt + TIME.length), 10),
  };
}

/** Fails if the limit of open files is too low for this number of connections. */
export function requireOpenFiles(connections: number): void {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const allowed = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  const needed = connections + OTHER_FILES;
  if (allowed >= needed) return;
  throw new Error(
    `open files: the limit is ${allowed}, expected ${needed} or more; see ulimit -Hn ${needed}`,
  );
}

/** Distinct random subscriptions for each connection; the same seed gives the same ones. */
export function drawWishes(
  seed: string,
  { users, dexes }: { users: readonly string[]; dexes: readonly string[] },
  { connections, each }: { connections: number; each: number },
): Wish[][] {
  const random = new Random(seed);
  return Array.from({ length: connections }, () => {
    const wishes = new Map<string, Wish>();
    while (wishes.size < each) {
      const user = users[random.below(users.length)];
      const dex = dexes[random.below(dexes.length)];
      wishes.set(`${user} ${dex}`, { user, dex });
    }
    return [...wishes.values()];
  });
}

/** One subscription, and the last state that it was sent. */
export class Subscriber {
  readonly wish: Wish;
  content: string | undefined;
  height = 0;
  /** States that say what the one before said: it had changed in between, or only below a unit. */
  repeats = 0;

  constructor(wish: Wish) {
    this.wish = wish;
  }

  /** Takes the next state, and says what is wrong with it. */
  take({ content, height }: Update): string | undefined {
    const last = this.height;
    const isSame = content === this.content;
    this.content = content;
    this.height = height;
    if (height <= last) return `height ${height} after ${last}`;
    if (isSame) this.repeats++;
    return undefined;
  }
}

export class Crowd {
  readonly subscribers: Subscriber[] = [];
  /** The first things that went wrong; there should be none. */
  readonly faults: string[] = [];
  /** Called with each state that is not the first of its subscription. */
  onUpdate: (update: Update, bytes: number) => void = () => undefined;
  updateCount = 0;
  readonly #sockets: WebSocket[] = [];
  #isClosing = false;

  /** Resolves once every subscription has its first state. */
  async connect(address: PushAddress, wishes: readonly (readonly Wish[])[]): Promise<void> {
    const waiting = wishes.values();
    const openInTurn = async () => {
      for (const some of waiting) await this.#open(address, some);
    };
    await Promise.all(Array.from({ length: OPENING_MAX }, openInTurn));
  }

  close(): void {
    this.#isClosing = true;
    for (const socket of this.#sockets) socket.terminate();
  }

  #open({ port, secret, intervalMs = 0 }: PushAddress, wishes: readonly Wish[]): Promise<void> {
    const options = { perMessageDeflate: false, skipUTF8Validation: true };
    const address = `ws://127.0.0.1:${port}/${secret}/ws?interval=${intervalMs}`;
    const socket = new WebSocket(address, options);
    this.#sockets.push(socket);
    const subscribers = new Map(wishes.map((wish) => [nameOf(wish), new Subscriber(wish)]));
    this.subscribers.push(...subscribers.values());
    return new Promise((resolve, reject) => {
      let missing = subscribers.size;
      socket.on('open', () => {
        for (const wish of wishes) socket.send(formatSubscribe(wish));
      });
      socket.on('message', (data: Buffer) => {
        if (this.#receive(data, subscribers) && --missing === 0) resolve();
      });
      socket.on('close', (code) => this.#note(`a connection was closed with ${code}`));
      socket.on('error', reject);
    });
  }

  /** Whether it was the first state of a subscription. */
  #receive(data: Buffer, subscribers: ReadonlyMap<string, Subscriber>): boolean {
    const text = data.toString('latin1');
    const update = readUpdate(text);
    if (update === undefined) {
      if (!text.startsWith(ACK)) this.#note(text);
      return false;
    }
    const subscriber = subscribers.get(update.name);
    const isFirst = subscriber?.content === undefined;
    const fault = subscriber === undefined ? 'nobody asked for it' : subscriber.take(update);
    if (fault !== undefined) this.#note(`${update.name}: ${fault}`);
    if (isFirst) {
      // Later states are not parsed, because the clients must be light.
      checkFrame(JSON.parse(data.toString()));
      return true;
    }
    this.updateCount++;
    this.onUpdate(update, data.length);
    return false;
  }

  #note(fault: string): void {
    if (!this.#isClosing && this.faults.length < FAULTS_MAX) this.faults.push(fault);
  }
}

function nameOf({ user, dex }: Wish): string {
  return `"user":"${user}","dex":"${dex}"`;
}

function formatSubscribe({ user, dex }: Wish): string {
  const subscription = { type: 'clearinghouseState', user, dex };
  return JSON.stringify({ method: 'subscribe', subscription });
}
