/** Whose trades are seen, and which accounts are read for what may have gone unseen. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../../src/exact/address.ts';
import { type Watched, WatchList } from '../../../src/upstream/follower/accounts/watch-list.ts';
import { ExchangeTime } from '../../../src/upstream/follower/blocks/exchange-time.ts';
import { TradeCoverage } from '../../../src/upstream/follower/push/trade-coverage.ts';
import { ManualClock } from '../../follow/manual-clock.ts';

const NOON = 1_758_558_600_000;
const STEP_MS = 100;

/** One followed account on the first dex, whose trades are those of BTC and ETH. */
class Scene {
  readonly clock = new ManualClock();
  readonly list = new WatchList({ sweepMs: 60_000, forgetMs: 3_600_000, watchedMax: 10 });
  readonly time = new ExchangeTime({ clock: this.clock, aheadMsMax: 0, wallMs: () => 0 });
  readonly coverage: TradeCoverage;
  readonly account: Watched;
  readonly #startMs = this.clock.nowMs();

  constructor() {
    const { clock, time, list: watchList } = this;
    this.coverage = new TradeCoverage({ clock, time, watchList });
    time.note(NOON);
    const user = `0x${'a'.repeat(40)}`;
    const address = parseAddress(user);
    assert.ok(address !== undefined);
    this.account = watchList.add({ kind: 'account', user, dex: '' }, address, clock.nowMs());
    this.coverage.setNeeded(new Map([['', ['BTC', 'ETH']]]));
    this.read();
  }

  get exchangeMs(): number {
    return NOON + this.clock.nowMs() - this.#startMs;
  }

  /** An answer about the account is as old as the exchange's time is now. */
  read(): void {
    this.list.noteRead(this.account, this.exchangeMs);
    this.account.triedMs = this.clock.nowMs();
  }

  pass(ms: number, isHeard = true): void {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.clock.advance(STEP_MS);
      if (isHeard) this.coverage.noteHeard();
      this.coverage.check();
    }
  }

  confirm(): void {
    for (const coin of ['BTC', 'ETH']) this.coverage.noteConfirmed(coin);
  }

  repeatTrade(agoMs: number): void {
    this.repeatTrades('ETH', 1, agoMs);
  }

  /** One message: so many trades, from then until now. */
  repeatTrades(coin: string, count: number, agoMs: number): void {
    const trades = Array.from({ length: count }, (_, index) => ({
      coin,
      time: this.exchangeMs - Math.round(agoMs * (1 - index / count)),
      users: [],
    }));
    this.coverage.noteTrades(trades);
  }

  get due(): string | undefined {
    const now = { ms: this.clock.nowMs(), exchange: this.exchangeMs };
    return this.list.findDue(now, 1)[0]?.reason;
  }
}

function startSeen(): Scene {
  const scene = new Scene();
  scene.coverage.noteBroken();
  scene.confirm();
  scene.pass(1_000);
  scene.read();
  scene.pass(2_000);
  assert.equal(scene.due, undefined);
  assert.equal(scene.coverage.unseenMs, 0);
  return scene;
}

test('what was read before its trades were seen is read again', () => {
  const scene = new Scene();
  scene.pass(2_000);
  scene.coverage.noteBroken();
  scene.coverage.noteConfirmed('BTC');
  scene.pass(1_000);
  assert.ok(scene.coverage.unseenMs > 0, 'one market of two');
  scene.coverage.noteConfirmed('ETH');
  scene.pass(1_000);
  assert.equal(scene.due, 'missed');
  scene.read();
  scene.pass(2_000);
  assert.equal(scene.due, undefined);
});

test('a connection that was lost has accounts read at once, and when trades are seen again', () => {
  const scene = startSeen();
  scene.coverage.noteBroken();
  scene.pass(1_500, false);
  assert.equal(scene.due, 'missed');
  scene.read();
  scene.pass(3_000, false);
  assert.equal(scene.due, 'sweep', 'every second, as long as they are not seen');
  assert.ok(scene.coverage.unseenMs > 4_000);
  scene.read();
  scene.coverage.noteBroken();
  scene.confirm();
  scene.pass(1_100);
  assert.equal(scene.due, 'missed');
  assert.equal(scene.coverage.unseenMs, 0);
});

test('a short gap is closed by the trades that the new connection repeats', () => {
  for (const [agoMs, due] of [
    [20_000, undefined],
    [1_000, 'missed'],
    [90_000, 'missed'],
  ] as const) {
    const scene = startSeen();
    scene.coverage.noteBroken();
    scene.pass(700, false);
    scene.coverage.noteBroken();
    scene.confirm();
    scene.repeatTrade(agoMs);
    scene.pass(1_000);
    assert.equal(scene.due, due, `${agoMs} ms ago`);
  }
});

test('each coin is judged by the trades that were repeated of it', () => {
  const cases: [btc: [number, number], eth: [number, number], due: string | undefined][] = [
    // A period of time: ETH was traded once in it.
    [[50, 20_000], [1, 100], undefined],
    [[50, 20_000], [49, 20_000], undefined],
    // Ten trades of each coin: more of BTC may be missing.
    [[10, 1_200], [10, 40_000], 'missed'],
    [[10, 1_200], [3, 40_000], 'missed'],
    [[10, 15_000], [10, 40_000], undefined],
  ];
  for (const [btc, eth, due] of cases) {
    const scene = startSeen();
    scene.coverage.noteBroken();
    scene.pass(700, false);
    scene.coverage.noteBroken();
    scene.confirm();
    scene.repeatTrades('BTC', ...btc);
    scene.repeatTrades('ETH', ...eth);
    scene.pass(1_000);
    assert.equal(scene.due, due, `BTC ${btc.join(' in ')} ms, ETH ${eth.join(' in ')} ms`);
  }
});

test('only the first message of a subscription repeats trades', () => {
  const scene = startSeen();
  scene.repeatTrade(100);
  scene.coverage.noteBroken();
  scene.pass(700, false);
  scene.coverage.noteBroken();
  scene.confirm();
  scene.repeatTrade(100);
  scene.repeatTrade(20_000);
  scene.pass(1_000);
  assert.equal(scene.due, 'missed');
});

test('a new market has the accounts of its dex read, whatever was seen of the others', () => {
  const scene = startSeen();
  scene.coverage.setNeeded(new Map([['', ['BTC', 'NEW', 'ETH']]]));
  scene.pass(500);
  assert.ok(scene.coverage.unseenMs > 0);
  scene.coverage.noteConfirmed('NEW');
  scene.pass(1_000);
  assert.equal(scene.due, 'missed');
});

test('accounts that may have changed are counted until they are read', () => {
  const scene = startSeen();
  const count = () =>
    scene.list.countWaiting({ ms: scene.clock.nowMs(), exchange: scene.exchangeMs }, 3_000);
  scene.coverage.noteBroken();
  scene.pass(3_000, false);
  assert.equal(count(), 0);
  scene.pass(3_000, false);
  assert.equal(count(), 1);
  scene.read();
  assert.equal(count(), 0);
});
