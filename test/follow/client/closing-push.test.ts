/** An upstream that closes the connection for a subscription, without a word: which one is left out. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { PushSocket } from '../../../src/upstream/client/push/push-socket.ts';
import { UpstreamPush } from '../../../src/upstream/client/push/upstream-push.ts';
import type { UpstreamSubscription } from '../../../src/upstream/client/push/upstream-subscription.ts';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import { ManualClock } from '../manual-clock.ts';

const MARKS = { type: 'fastAssetCtxs' };
/** From one side to the other. */
const WAY_MS = 50;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

// biome-ignore lint/suspicious/noExplicitAny: as the listeners of an event emitter
type Listener = (...values: any[]) => void;

/** One connection to an upstream in this process. */
class ClosingSocket implements PushSocket {
  readonly #upstream: ClosingUpstream;
  readonly #listeners = new Map<string, Listener>();
  readonly subscribed = new Set<string>();
  isOpen = false;

  constructor(upstream: ClosingUpstream) {
    this.#upstream = upstream;
  }

  on(event: string, listener: Listener): this {
    this.#listeners.set(event, listener);
    return this;
  }

  emit(event: string, ...values: unknown[]): void {
    this.#listeners.get(event)?.(...values);
  }

  open(): void {
    this.isOpen = true;
    this.emit('open');
  }

  push(channel: string, data: unknown): void {
    if (this.isOpen) this.emit('message', Buffer.from(JSON.stringify({ channel, data })), false);
  }

  send(text: string): void {
    this.#upstream.later(() => {
      if (this.isOpen) this.#upstream.receive(this, JSON.parse(text));
    });
  }

  close(code: number): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.emit('close', code, Buffer.alloc(0));
  }

  terminate(): void {
    this.isOpen = true;
    this.close(1006);
  }
}

class ClosingUpstream {
  readonly clock = new ManualClock();
  readonly #startMs = this.clock.nowMs();
  readonly sockets: ClosingSocket[] = [];
  readonly connectedMs: number[] = [];
  readonly refused: (readonly [UpstreamSubscription, string])[] = [];
  readonly log: string[] = [];
  /** The coins that the connection is closed for. */
  bad = new Set<string>();
  confirms = false;
  closeCode = 1006;
  /** Closes every connection so long after it was opened. */
  closesAfterMs: number | undefined;
  readonly push: UpstreamPush;

  constructor(t: TestContext) {
    this.push = new UpstreamPush({
      address: readUpstreamAddress(new URL('http://exchange.example')),
      limits: { subscriptionsMax: 1_000, usersMax: 10, messagesMax: 10_000 },
      handler: {
        opened: () => undefined,
        message: () => undefined,
        acknowledged: () => undefined,
        refused: (subscription, reason) => this.refused.push([subscription, reason]),
        lost: () => undefined,
      },
      log: { info: () => undefined, warn: (line) => this.log.push(line) },
      clock: this.clock,
      random: () => 1,
      openSocket: () => this.#connect(),
    });
    t.after(() => this.push.close());
  }

  #connect(): ClosingSocket {
    const socket = new ClosingSocket(this);
    this.sockets.push(socket);
    this.connectedMs.push(this.clock.nowMs() - this.#startMs);
    this.later(() => socket.open());
    if (this.closesAfterMs !== undefined) {
      this.clock.setTimer(WAY_MS + this.closesAfterMs, () => socket.close(this.closeCode));
    }
    return socket;
  }

  later(act: () => void): void {
    this.clock.setTimer(WAY_MS, act);
  }

  receive(socket: ClosingSocket, message: ReturnType<typeof JSON.parse>): void {
    const { method, subscription } = message;
    if (method === 'ping') this.later(() => socket.push('pong', undefined));
    if (method !== 'subscribe') return;
    if (this.bad.has(subscription.coin)) {
      this.later(() => socket.close(this.closeCode));
      return;
    }
    socket.subscribed.add(subscription.coin ?? subscription.type);
    const response = { method, subscription };
    if (this.confirms) this.later(() => socket.push('subscriptionResponse', response));
  }

  /** What the last connection is subscribed to. */
  get subscribed(): ReadonlySet<string> {
    return this.sockets.at(-1)?.subscribed ?? new Set();
  }

  get leftOut(): unknown[] {
    return this.push.leftOut.map(({ subscription }) => subscription['coin'] ?? subscription.type);
  }

  /** Lets time pass; the upstream pushes marks every second. */
  advance(ms: number): void {
    for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
      this.clock.advance(Math.min(1_000, ms - passedMs));
      this.sockets.at(-1)?.push('fastAssetCtxs', {});
    }
  }

  /** The most connections of a minute. */
  get busiestMinute(): number {
    const { connectedMs } = this;
    const counts = connectedMs.map(
      (fromMs) => connectedMs.filter((ms) => ms >= fromMs && ms < fromMs + MINUTE_MS).length,
    );
    return Math.max(...counts);
  }
}

function coinsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `C${index}`);
}

function listTrades(coins: readonly string[]): UpstreamSubscription[] {
  return [MARKS, ...coins.map((coin) => ({ type: 'trades', coin }))];
}

test('a connection that is closed for one subscription is opened without it, and says so', (t) => {
  const upstream = new ClosingUpstream(t);
  upstream.bad.add('NONE');
  upstream.push.subscribe(listTrades(['BTC']));
  upstream.advance(5_000);
  upstream.push.subscribe(listTrades(['BTC', 'NONE']));
  upstream.advance(2_000);
  assert.equal(upstream.sockets.length, 2);
  assert.deepEqual([...upstream.subscribed], ['fastAssetCtxs', 'BTC']);
  const subscription = { type: 'trades', coin: 'NONE' };
  assert.deepEqual(upstream.push.leftOut, [
    { subscription, reason: 'closed with 1006', isProven: false },
  ]);
  assert.deepEqual(upstream.refused, [[subscription, 'closed with 1006']]);
  assert.match(
    upstream.log.join('\n'),
    /leaves out \{"type":"trades","coin":"NONE"\}: closed with/,
  );
});

test('what was left out is tried again alone, later each time, up to an hour', (t) => {
  const upstream = new ClosingUpstream(t);
  upstream.push.subscribe(listTrades(['BTC']));
  upstream.advance(5_000);
  upstream.bad.add('NONE');
  upstream.push.subscribe(listTrades(['BTC', 'NONE', 'ETH']));
  upstream.advance(8 * HOUR_MS);
  assert.deepEqual([...upstream.subscribed], ['fastAssetCtxs', 'BTC', 'ETH']);
  assert.deepEqual(upstream.leftOut, ['NONE']);
  const waits = upstream.connectedMs
    .slice(3)
    .map((ms, index) => ms - upstream.connectedMs[index + 2]);
  const minutes = waits.map((ms) => Math.round(ms / MINUTE_MS));
  assert.deepEqual(minutes, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]);
  upstream.bad.clear();
  upstream.advance(HOUR_MS + MINUTE_MS);
  assert.deepEqual([...upstream.subscribed], ['fastAssetCtxs', 'BTC', 'ETH', 'NONE']);
  assert.deepEqual(upstream.leftOut, []);
});

for (const confirms of [true, false]) {
  const how = confirms ? 'confirms what it takes' : 'confirms nothing';
  test(`one of 900 is found by halving, at an upstream that ${how}`, (t) => {
    const upstream = new ClosingUpstream(t);
    upstream.confirms = confirms;
    upstream.bad.add('C613');
    const coins = coinsOf(900);
    upstream.push.subscribe(listTrades(coins));
    upstream.advance(45_000);
    const missing = coins.filter((coin) => !upstream.subscribed.has(coin));
    assert.ok(missing.includes('C613') && missing.length <= 8, missing.join());
    assert.deepEqual(upstream.leftOut.toSorted(), missing.toSorted());
    upstream.advance(3 * MINUTE_MS);
    assert.deepEqual(upstream.leftOut, ['C613']);
    assert.equal(upstream.subscribed.size, 900);
    assert.ok(upstream.busiestMinute <= 10, `${upstream.busiestMinute} connections`);
  });
}

test('several are found, never with more than ten connections a minute', (t) => {
  const upstream = new ClosingUpstream(t);
  const bad = ['C0', 'C17', 'C18', 'C150', 'C299'];
  upstream.bad = new Set(bad);
  upstream.push.subscribe(listTrades(coinsOf(300)));
  upstream.advance(30 * MINUTE_MS);
  assert.deepEqual(upstream.leftOut.toSorted(), bad.toSorted());
  assert.equal(upstream.subscribed.size, 300 - bad.length + 1);
  assert.ok(upstream.busiestMinute <= 10, `${upstream.busiestMinute} connections`);
});

test('an upstream that closes every connection has nothing left out, and is not hurried', (t) => {
  const upstream = new ClosingUpstream(t);
  upstream.closesAfterMs = 200;
  upstream.push.subscribe(listTrades(coinsOf(20)));
  upstream.advance(5 * MINUTE_MS);
  assert.ok(upstream.busiestMinute <= 10, `${upstream.busiestMinute} connections`);
  upstream.closesAfterMs = undefined;
  upstream.advance(MINUTE_MS);
  assert.deepEqual(upstream.leftOut, []);
  assert.equal(upstream.subscribed.size, 21);
});

test('a connection that ends in a normal way is not blamed on what was just sent', (t) => {
  for (const code of [1000, 1001, 1012, 1013]) {
    const upstream = new ClosingUpstream(t);
    upstream.closeCode = code;
    upstream.push.subscribe([MARKS]);
    upstream.clock.advance(200);
    upstream.sockets[0].close(code);
    upstream.advance(5_000);
    assert.deepEqual(upstream.leftOut, []);
    assert.deepEqual([...upstream.subscribed], ['fastAssetCtxs']);
  }
});

test('a connection that is lost a while after the last subscription blames none', (t) => {
  const upstream = new ClosingUpstream(t);
  upstream.push.subscribe(listTrades(['BTC']));
  upstream.advance(2_000);
  upstream.sockets[0].close(1006);
  upstream.advance(2_000);
  assert.deepEqual(upstream.leftOut, []);
  assert.equal(upstream.subscribed.size, 2);
});

test('what is wanted anew during a search waits until it is over', (t) => {
  const upstream = new ClosingUpstream(t);
  upstream.bad = new Set(['C3', 'NEW']);
  upstream.push.subscribe(listTrades(coinsOf(8)));
  upstream.clock.advance(1_000);
  upstream.push.subscribe(listTrades([...coinsOf(8), 'NEW', 'GOOD']));
  upstream.advance(4 * MINUTE_MS);
  assert.deepEqual(upstream.leftOut.toSorted(), ['C3', 'NEW']);
  assert.ok(upstream.subscribed.has('GOOD'));
  assert.equal(upstream.subscribed.size, 9);
});

test('what is no longer wanted is no longer searched', (t) => {
  const upstream = new ClosingUpstream(t);
  upstream.bad.add('C3');
  upstream.push.subscribe(listTrades(coinsOf(8)));
  upstream.clock.advance(1_000);
  upstream.push.subscribe(listTrades(['C1']));
  upstream.advance(10_000);
  assert.deepEqual([...upstream.subscribed].toSorted(), ['C1', 'fastAssetCtxs']);
  assert.deepEqual(upstream.leftOut, []);
});
