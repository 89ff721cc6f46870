/** A history as it was when it ended with an earlier height. */

import type { Address } from '../exact/address.ts';
import type {
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

  range(): HistoryRange {
    const last = this.#last;
    return { ...this.#history.range(), last, lastTime: this.#history.timeOf(last) };
  }

  holds(height: number): boolean {
    return height <= this.#last && this.#history.holds(height);
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
