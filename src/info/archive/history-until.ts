/** A view of a history that ends at an earlier height. */

import type { Address } from '../../exact/address.ts';
import type {
  AccountSums,
  ArchiveReads,
  HistoryRange,
  HistoryView,
  PastView,
  PositionChange,
  Reduction,
} from './history-view.ts';

export class HistoryUntil implements HistoryView {
  readonly #history: HistoryView;
  readonly #last: number;

  constructor(history: HistoryView, last: number) {
    this.#history = history;
    this.#last = last;
  }

  get ledgerId(): string {
    return this.#history.ledgerId;
  }

  get reads(): ArchiveReads {
    return this.#history.reads;
  }

  range(): HistoryRange {
    const last = this.#last;
    const lastTime = this.#history.timeOf(last);
    const range = this.#history.range();
    return { ...range, firstTime: Math.min(range.firstTime, lastTime), last, lastTime };
  }

  holds(height: number): boolean {
    return height <= this.#last && this.#history.holds(height);
  }

  hasSeen(after: number, to: number): boolean {
    return this.#history.hasSeen(after, to);
  }

  heightAt(time: number): number | undefined {
    const height = this.#history.heightAt(time);
    return height === undefined ? undefined : Math.min(height, this.#last);
  }

  timeOf(height: number): number {
    return this.#history.timeOf(height);
  }

  markOf(market: number, height: number): number {
    return this.#history.markOf(market, height);
  }

  at(height: number): PastView {
    return this.#history.at(height);
  }

  sumsAt(...[account, height]: Parameters<HistoryView['sumsAt']>): AccountSums {
    return this.#history.sumsAt(account, height);
  }

  nextChange(...[account, height]: Parameters<HistoryView['nextChange']>): number | undefined {
    const next = this.#history.nextChange(account, height);
    return next === undefined || next > this.#last ? undefined : next;
  }

  dexesOf(user: Address): readonly number[] {
    return this.#history.dexesOf(user);
  }

  positionChanges(
    ...[account, market, heights]: Parameters<HistoryView['positionChanges']>
  ): Iterable<PositionChange | undefined> {
    return this.#history.positionChanges(account, market, heights);
  }

  reductions(
    ...[account, heights]: Parameters<HistoryView['reductions']>
  ): Iterable<Reduction | undefined> {
    return this.#history.reductions(account, heights);
  }
}
