/** Counts the branches that random tests take: one that is never taken fails the test. */

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

  hasAll(names: readonly string[]): boolean {
    return names.every((name) => this.countOf(name) > 0);
  }

  assertAll(names: readonly string[]): void {
    const missing = names.filter((name) => this.countOf(name) === 0);
    assert.deepEqual(missing, [], 'these never happened');
  }
}
