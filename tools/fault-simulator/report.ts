/** Adds up the results of runs. */

import type { SeedResult } from './run-seed.ts';

export class Report {
  runs = 0;
  readonly #counts = new Map<string, number>();

  add({ counts }: SeedResult): void {
    this.runs += 1;
    for (const [what, count] of counts) {
      this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
    }
  }

  describe(tookMs: number): string {
    const rows = [...this.#counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, count]) => `  ${what.padEnd(40)} ${count}`);
    const seconds = Math.round(tookMs / 1000);
    return [`${this.runs} seeds in ${seconds} s, no violation`, ...rows, ''].join('\n');
  }

  describeViolation({ seed, violation, story }: SeedResult): string {
    const lines = story.map((line) => `  ${line}`);
    return [`violation: ${violation}`, `repeat it with --seed ${seed}`, ...lines, ''].join('\n');
  }
}
