/**
 * What a ledger's past was, from a naive replay of all blocks since the first: plain maps and bigints,
 * and docs/reference/questions.md. It is told which blocks an archive has seen, and of which it has only the state.
 */

import assert from 'node:assert/strict';
import { DAY_MS, type WireBlock } from '../../tools/naive-twin/naive-block.ts';
import { usdOf } from '../../tools/naive-twin/naive-book.ts';
import { writeDecimal, writeRational } from '../../tools/naive-twin/naive-decimal.ts';
import { type AccountFigures, figureAccount } from '../../tools/naive-twin/naive-figures.ts';
import { foldBlock } from '../../tools/naive-twin/naive-fold.ts';
import { createNaiveState, keyOf, type NaiveState } from '../../tools/naive-twin/naive-state.ts';
import { isLess, minus, plus, sum, times } from '../../tools/naive-twin/rational.ts';
import { type Change, changesOf } from './naive-changes.ts';

const MINUTE_MS = 60_000;
const POINTS_MAX = 5_000;

/** What is refused, and why: the message of the refusal, or its beginning, which names the field first. */
export class NaiveRefused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface Asked {
  readonly type: string;
  readonly user: string;
  readonly dex?: string;
  readonly coin?: string;
  readonly from?: number;
  readonly to?: number;
  readonly step?: number;
  readonly format?: string;
  readonly atHeight?: number;
  readonly atTime?: number;
}

interface Sums {
  netTransfers: bigint;
  volume: bigint;
}

const NO_SUMS: Sums = { netTransfers: 0n, volume: 0n };

type Point = readonly [height: number | undefined, time: number];

export class NaivePast {
  /** Both by height; there is no block 0. */
  readonly blocks: (WireBlock | undefined)[] = [undefined];
  readonly states: NaiveState[] = [createNaiveState()];
  readonly #changes: (Map<string, Change> | undefined)[] = [];
  readonly #figures = new Map<string, AccountFigures>();
  /** By height, the sums of each account. */
  readonly #sums: Map<string, Sums>[] = [new Map()];
  readonly #seen = new Set<number>();
  readonly #images = new Set<number>();
  first = 0;
  head = 0;

  constructor(lines: readonly string[]) {
    for (const line of lines) {
      const folded = foldBlock(this.states[this.states.length - 1], JSON.parse(line));
      assert.ok(folded.isAccepted, line);
      this.blocks.push(JSON.parse(line));
      this.states.push(folded.state);
    }
  }

  /** The archiver has run up to a height, on a ledger from which the blocks up to `base` were pruned. */
  archive(to: number, base: number, oldestSnapshot: number | undefined, days?: number): void {
    if (base > this.head) this.#noteImage(oldestSnapshot ?? assert.fail('no snapshot'));
    if (this.first === 0) this.first = 1;
    while (this.head < to) this.#see(this.head + 1);
    if (days === undefined) return;
    const oldest = this.#lastUpTo(this.timeOf(to) - days * DAY_MS, to);
    this.first = Math.max(this.first, oldest ?? 0);
  }

  #noteImage(height: number): void {
    this.#images.add(height);
    const before = this.#sums[this.head];
    const sums = new Map(before);
    for (const key of this.states[height].accounts.keys()) {
      if (before.has(key)) continue;
      sums.set(key, { netTransfers: this.#valueOf(height, key), volume: 0n });
    }
    this.#sums[height] = sums;
    this.head = height;
    if (this.first === 0) this.first = height;
  }

  #see(height: number): void {
    this.#seen.add(height);
    const before = this.#sums[this.head];
    const { events } = this.blocks[height] ?? assert.fail();
    const added = new Map<string, Sums>();
    const read = new Set<string>();
    const add = (user: string, dex: string, transfers: bigint, volume: bigint) => {
      const known = added.get(keyOf(user, dex)) ?? NO_SUMS;
      added.set(keyOf(user, dex), {
        netTransfers: known.netTransfers + transfers,
        volume: known.volume + volume,
      });
    };
    for (const event of events) {
      if (event.type === 'transfer') add(event.user, event.dex, usdOf(event.amount), 0n);
      if (event.type === 'account') read.add(keyOf(event.user, event.dex));
      if (event.type === 'fill') {
        const { dex } = this.states[height].markets.get(event.coin) ?? assert.fail();
        add(event.user, dex, 0n, (usdOf(event.sz) * usdOf(event.px)) / 1_000_000n);
      }
    }
    const sums = new Map(before);
    for (const key of this.states[height].accounts.keys()) {
      const old = before.get(key);
      const more = added.get(key) ?? NO_SUMS;
      const netTransfers =
        old === undefined && read.has(key)
          ? this.#valueOf(height, key)
          : (old ?? NO_SUMS).netTransfers + more.netTransfers;
      sums.set(key, { netTransfers, volume: (old ?? NO_SUMS).volume + more.volume });
    }
    this.#sums[height] = sums;
    this.head = height;
  }

  #valueOf(height: number, key: string): bigint {
    const [user, dex] = key.split(' ');
    return unitsOf(this.figures(height, user, dex).marginSummary.accountValue);
  }

  figures(height: number, user: string, dex: string): AccountFigures {
    const key = `${height} ${keyOf(user, dex)}`;
    const known = this.#figures.get(key) ?? figureAccount(this.states[height], user, dex);
    this.#figures.set(key, known);
    return known;
  }

  timeOf(height: number): number {
    return this.states[height].time;
  }

  holds(height: number, last = this.head): boolean {
    const isKnown = this.#seen.has(height) || this.#images.has(height);
    return height >= this.first && height <= last && isKnown;
  }

  /** The last height that is held and not later. */
  #lastUpTo(time: number, last: number): number | undefined {
    for (let height = last; height >= this.first; height--) {
      if (this.holds(height) && this.timeOf(height) <= time) return height;
    }
    return undefined;
  }

  /** Whether lost blocks follow a height. */
  #isBeforeGap(height: number): boolean {
    return height !== this.head && !this.holds(height + 1);
  }

  /** The height of the last block that is not later, if the archive can know it. */
  heightAt(time: number): number | undefined {
    const height = this.#lastUpTo(time, this.head);
    const isKnown = height !== undefined && time <= this.timeOf(this.head);
    return isKnown && !this.#isBeforeGap(height) ? height : undefined;
  }

  #resolve({ atHeight, atTime }: Asked): number {
    if (atHeight === undefined && atTime === undefined) return this.head;
    const height = atHeight ?? this.heightAt(atTime as number);
    if (height !== undefined && this.holds(height)) return height;
    const got = atHeight === undefined ? `atTime: got ${atTime}` : `atHeight: got ${atHeight}`;
    throw new NaiveRefused('unknown_height', `${got}, expected what the archive holds: heights `);
  }

  answer(asked: Asked): string {
    const last = this.#resolve(asked);
    switch (asked.type) {
      case 'accountHistory':
        return this.#accountHistory(asked, last);
      case 'positionHistory':
        return this.#positionHistory(asked, last);
      case 'liquidationHistory':
        return this.#liquidationHistory(asked, last);
      default:
        return this.#portfolio(asked.user, last);
    }
  }

  #firstTime(last: number): number {
    for (let height = this.first; height <= last; height++) {
      if (this.holds(height) && this.timeOf(height) > 0) return this.timeOf(height);
    }
    return 0;
  }

  /** The times of a series, cut to what is kept. */
  #range({ from = 0, to }: Asked, last: number): { from: number; to: number } {
    if (to !== undefined && from > to) {
      const message = `to: got ${to}, expected at least ${from}, the value of from`;
      throw new NaiveRefused('invalid_field', message);
    }
    const firstTime = this.#firstTime(last);
    const end = Math.min(to ?? this.timeOf(last), this.timeOf(last));
    if (end >= firstTime) return { from: Math.max(from, firstTime), to: end };
    const time = this.timeOf(this.first);
    return { from: Math.max(from, time), to: Math.min(end, time) };
  }

  #points(from: number, to: number, step: number, last: number): Point[] {
    const points: Point[] = [];
    let before: number | undefined;
    for (let time = from; from <= to; time += step) {
      const at = Math.min(time, to);
      const height = this.#lastUpTo(at, last);
      if (height !== undefined) {
        const isOld = at - this.timeOf(height) > Math.max(MINUTE_MS, step);
        const isLost = height !== last && !this.holds(height + 1, last);
        if (isOld || isLost) points.push([undefined, at]);
        else if (height !== before) {
          const isUnseen = before !== undefined && !this.#hasSeen(before, height);
          if (isUnseen && points[points.length - 1][0] !== undefined) {
            const next = Math.min(this.timeOf(before as number) + 1, this.timeOf(height));
            points.push([undefined, next]);
          }
          points.push([height, this.timeOf(height)]);
        }
        before = height;
      }
      if (time >= to) break;
    }
    return points;
  }

  #hasSeen(after: number, to: number): boolean {
    for (let height = after + 1; height <= to; height++) {
      if (!this.#seen.has(height)) return false;
    }
    return true;
  }

  #requireDex(dex: string, to: number, last: number): void {
    const { dexes, dexList } = this.states[this.#lastUpTo(to, last) ?? this.first];
    const isListed =
      dex === '' ||
      dexList === undefined ||
      dexList.some((item) => (item as { name?: unknown } | null)?.name === dex);
    if (dexes.has(dex) && isListed) return;
    throw new NaiveRefused('unknown_dex', `dex: got "${dex}", expected one of ""`);
  }

  #accountHistory(asked: Asked, last: number): string {
    const { user, dex = '', step } = asked;
    const { from, to } = this.#range(asked, last);
    const least = Math.max(1, Math.ceil((to - from) / (POINTS_MAX - 2)));
    if (step !== undefined && step < least) {
      const expected = `${least} or more: at most ${POINTS_MAX} points are answered`;
      throw new NaiveRefused('invalid_field', `step: got ${step}, expected ${expected}`);
    }
    this.#requireDex(dex, to, last);
    const usual = Math.max(1, Math.ceil((to - from) / 500));
    const rows = this.#points(from, to, step ?? usual, last).map(([height, time]) => {
      const amounts = height === undefined ? undefined : this.#amountsAt(height, user, dex);
      if (amounts === undefined) return [null, time, ...new Array(7).fill(null)];
      return [height, time, ...amounts.map((amount) => writeDecimal(amount, 6))];
    });
    const columns = [
      ...['height', 'time', 'accountValue', 'totalNtlPos', 'totalMarginUsed', 'withdrawable'],
      ...['unrealizedPnl', 'cumFunding', 'netTransfers'],
    ];
    return asked.format === 'csv' ? toCsv(columns, rows) : JSON.stringify(rows);
  }

  #amountsAt(height: number, user: string, dex: string): bigint[] | undefined {
    const state = this.states[height];
    if (state.isPartial && !state.accounts.has(keyOf(user, dex))) return undefined;
    const { marginSummary, withdrawable, positions } = this.figures(height, user, dex);
    const { accountValue, totalNtlPos, totalMarginUsed } = marginSummary;
    const gains = positions.map(({ side, pv, entryNtl }) => times(side, minus(pv, entryNtl)));
    let cumFunding = 0n;
    for (const [coin, market] of state.markets) {
      if (market.dex !== dex) continue;
      cumFunding += state.holdings.get(keyOf(user, coin))?.allTime ?? 0n;
    }
    const { netTransfers } = this.#sums[height].get(keyOf(user, dex)) ?? NO_SUMS;
    return [
      ...[accountValue, totalNtlPos, totalMarginUsed, withdrawable, sum(gains)].map(unitsOf),
      ...[cumFunding, netTransfers],
    ];
  }

  #portfolio(user: string, last: number): string {
    const firstTime = this.#firstTime(last);
    const to = this.timeOf(last);
    const hour = 60 * MINUTE_MS;
    const periods = [
      ['day', DAY_MS, hour / 2],
      ['week', 7 * DAY_MS, 2 * hour],
      ['month', 30 * DAY_MS, 8 * hour],
      ['allTime', to - firstTime, Math.max(1, Math.ceil((to - firstTime) / 100))],
    ].map(([name, length, step]) => {
      const from = Math.max(firstTime, to - Number(length));
      return [name, this.#period(user, { from, to, step: Number(step) }, last)] as const;
    });
    const perps = periods.map(([name, period]) => {
      const text = String(name);
      return [`perp${text[0].toUpperCase()}${text.slice(1)}`, period];
    });
    return JSON.stringify([...periods, ...perps]);
  }

  #period(
    user: string,
    { from, to, step }: { from: number; to: number; step: number },
    last: number,
  ) {
    const accountValueHistory: unknown[] = [];
    const pnlHistory: unknown[] = [];
    let opening: bigint | undefined;
    for (const [height, time] of this.#points(from, to, step, last)) {
      const sums = height === undefined ? undefined : this.#userAt(height, user);
      if (sums === undefined) continue;
      opening ??= sums.profit;
      accountValueHistory.push([time, writeDecimal(sums.value, 6)]);
      pnlHistory.push([time, writeDecimal(sums.profit - opening, 6)]);
    }
    // Nothing counts as traded where no point says so.
    const isKnown = opening !== undefined;
    const volume = isKnown ? this.#volumeSince(user, from, last) : 0n;
    return { accountValueHistory, pnlHistory, vlm: writeDecimal(volume, 6) };
  }

  /** What was traded in blocks that were seen: after the block at the time, or in all that are kept. */
  #volumeSince(user: string, from: number, last: number): bigint {
    const isAll = from <= this.#firstTime(last);
    const start = isAll ? this.first - 1 : (this.#lastUpTo(from, last) ?? this.first - 1);
    let volume = 0n;
    for (let height = start + 1; height <= last; height++) {
      if (!this.#seen.has(height)) continue;
      for (const event of this.blocks[height]?.events ?? []) {
        if (event.type !== 'fill' || event.user.toLowerCase() !== user.toLowerCase()) continue;
        volume += (usdOf(event.sz) * usdOf(event.px)) / 1_000_000n;
      }
    }
    return volume;
  }

  /** Over all dexes; undefined where a partial ledger does not know the user. */
  #userAt(height: number, user: string): { value: bigint; profit: bigint } | undefined {
    const state = this.states[height];
    let [value, profit] = [0n, 0n];
    let isKnown = !state.isPartial;
    for (const dex of state.dexes) {
      if (!state.accounts.has(keyOf(user, dex))) continue;
      isKnown = true;
      const own = this.#valueOf(height, keyOf(user, dex));
      value += own;
      profit += own - (this.#sums[height].get(keyOf(user, dex)) ?? NO_SUMS).netTransfers;
    }
    return isKnown ? { value, profit } : undefined;
  }

  /** The heights of a range, and the one at which names are looked up. */
  #heights(asked: Asked, last: number): { heights: number[]; end: number } {
    const { to } = this.#range(asked, last);
    const { from = 0 } = asked;
    const start = (this.#lastUpTo(from - 1, last) ?? this.first - 1) + 1;
    const found = this.#lastUpTo(to, last) ?? start - 1;
    const heights: number[] = [];
    for (let height = start; height <= found; height++) {
      if (this.holds(height, last)) heights.push(height);
    }
    return { heights, end: found < start ? last : found };
  }

  #positionHistory(asked: Asked, last: number): string {
    const { user, coin = '' } = asked;
    const { heights, end } = this.#heights(asked, last);
    if (!this.states[end].markets.has(coin)) {
      const message = `coin: got "${coin}", expected a coin that meta lists`;
      throw new NaiveRefused('invalid_field', message);
    }
    const rows = heights
      .filter((height) => this.#seen.has(height))
      .flatMap((height) => this.#describeChange(height, user, coin));
    return asked.format === 'csv' ? positionsAsCsv(rows) : JSON.stringify(rows);
  }

  #describeChange(height: number, user: string, coin: string): PositionRow[] {
    this.#changes[height] ??= changesOf(this.states[height - 1], this.blocks[height] as WireBlock);
    const key = keyOf(user, coin);
    const change = this.#changes[height]?.get(key);
    if (change === undefined) return [];
    const state = this.states[height];
    const { szDecimals, markPx } = state.markets.get(coin) ?? assert.fail();
    const { mode, leverage, position } = state.holdings.get(key) ?? assert.fail();
    const { szi = 0n, entryNtl = 0n, sinceOpen = 0n } = position ?? {};
    const entryPrice = szi === 0n ? 0n : entryNtl / (szi < 0n ? -szi : szi);
    return [
      {
        height,
        time: state.time,
        szi: writeDecimal(szi, szDecimals),
        entryPx: writeDecimal(entryPrice, 6 - szDecimals),
        entryNtl: writeDecimal(entryNtl, 6),
        markPx: writeDecimal(markPx, 6 - szDecimals),
        leverage: { type: mode, value: leverage },
        fundingSinceOpen: writeDecimal(sinceOpen, 6),
        causes: change.causes,
      },
    ];
  }

  #liquidationHistory(asked: Asked, last: number): string {
    const { user, dex = '' } = asked;
    this.#requireDex(dex, this.#range(asked, last).to, last);
    const rows = this.#heights(asked, last)
      .heights.filter((height) => this.holds(height - 1))
      .flatMap((height) => this.#liquidationsIn(height, user, dex));
    if (asked.format !== 'csv') return JSON.stringify(rows);
    const columns = ['height', 'time', 'coin', 'szi', 'sziAfter', 'markPx', 'marginMode'];
    return toCsv(
      columns,
      rows.map((row) => Object.values(row)),
    );
  }

  #liquidationsIn(height: number, user: string, dex: string): object[] {
    const [before, after] = [this.states[height - 1], this.states[height]];
    const reduced = [...before.markets].filter(([coin, market]) => {
      if (market.dex !== dex) return false;
      const [old, now] = [before, after].map(
        ({ holdings }) => holdings.get(keyOf(user, coin))?.position?.szi ?? 0n,
      );
      return old > 0n ? now < old : old < 0n && now > old;
    });
    if (reduced.length === 0) return [];
    const revalued = structuredClone(before);
    for (const [coin, market] of revalued.markets) {
      market.markPx = after.markets.get(coin)?.markPx ?? market.markPx;
    }
    const modes = new Map([
      ...liquidatable(figureAccount(revalued, user, dex)),
      ...liquidatable(figureAccount(before, user, dex)),
    ]);
    return reduced.flatMap(([coin, { szDecimals }]) => {
      const sizes = [before, after].map(
        ({ holdings }) => holdings.get(keyOf(user, coin))?.position?.szi ?? 0n,
      );
      const [szi, sziAfter] = sizes.map((size) => writeDecimal(size, szDecimals));
      const markPx = writeDecimal(after.markets.get(coin)?.markPx ?? 0n, 6 - szDecimals);
      const marginMode = modes.get(coin);
      if (marginMode === undefined) return [];
      return [{ height, time: after.time, coin, szi, sziAfter, markPx, marginMode }];
    });
  }
}

/** The positions whose backing is less than their maintenance margin. */
function liquidatable(figures: AccountFigures): [coin: string, mode: string][] {
  const { crossMarginSummary, crossMaintenanceMarginUsed, positions } = figures;
  const found: [string, string][] = [];
  for (const { coin, isCross, marginUsed, maintenance } of positions) {
    const others = minus(crossMaintenanceMarginUsed, maintenance);
    const backing = plus(crossMarginSummary.accountValue, figures.collateral);
    const equity = isCross ? minus(backing, others) : marginUsed;
    if (isLess(equity, maintenance)) found.push([coin, isCross ? 'cross' : 'isolated']);
  }
  return found;
}

function unitsOf(value: Parameters<typeof writeRational>[0]): bigint {
  return usdOf(writeRational(value, 6));
}

interface PositionRow {
  height: number;
  time: number;
  szi: string;
  entryPx: string;
  entryNtl: string;
  markPx: string;
  leverage: { type: string; value: number };
  fundingSinceOpen: string;
  causes: readonly string[];
}

function positionsAsCsv(rows: readonly PositionRow[]): string {
  const columns = [
    ...['height', 'time', 'szi', 'entryPx', 'entryNtl', 'markPx', 'leverageType', 'leverage'],
    ...['fundingSinceOpen', 'causes'],
  ];
  const lines = rows.map(({ leverage, causes, fundingSinceOpen, ...row }) => [
    ...Object.values(row),
    ...[leverage.type, leverage.value, fundingSinceOpen, causes.join(' ')],
  ]);
  return toCsv(columns, lines);
}

function toCsv(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return [columns, ...rows].map((row) => `${row.map((cell) => cell ?? '').join(',')}\r\n`).join('');
}
