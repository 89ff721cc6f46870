/** Counts what random tests came across, so that a branch that is never taken fails the test. */

import assert from 'node:assert/strict';

export class Tally {
  readonly #counts = new Map<string, number>();

  count(name: string): void {
    this.#counts.set(name, this.countOf(name) + 1);
  }

  countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  describe(): string {
    const entries = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([name, count]) => `${name}: ${count}`).join(', ');
  }

  assertAll(names: readonly string[]): void {
    const missing = names.filter((name) => this.countOf(name) === 0);
    assert.deepEqual(missing, [], 'these never happened');
  }
}
