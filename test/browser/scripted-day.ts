/**
 * A day of an account within minutes: the page has a clock that the test moves, and a service that is
 * scripted, in the page itself, since a message from outside takes longer than a second of such a day.
 */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';

/**
 * How the page is cut off: from everything, from everything without being told so, from push alone, or
 * from HTTP without being told so; or the ledger has stopped.
 */
export type OutageKind = 'gone' | 'hung' | 'unpushed' | 'unanswered' | 'stopped';

export interface Outage {
  readonly kind: OutageKind;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface DayScript {
  readonly user: string;
  readonly startMs: number;
  readonly blockMs: number;
  /** What the account is worth at each block; pushed where it is another one. */
  readonly values: readonly string[];
  readonly outages: readonly Outage[];
  /** From which age on the ledger counts as stale; 0 for never. */
  readonly maxAgeMs: number;
}

/** A state that the page was told, by push or as an answer. */
export type Told = readonly [timeMs: number, value: string];

/** What the test moves and reads in the page. */
export interface Day {
  advance(ms: number): Promise<void>;
  readonly told: readonly Told[];
}

/** Compiled; without what makes it a module, as which it would come too late. */
const IN_PAGE = readFileSync(path.join(import.meta.dirname, 'day-in-page.js'), 'utf8').replace(
  /^export (?=function|class)|^export \{\};$/gm,
  '',
);

export async function stageDay(page: Page, script: DayScript): Promise<void> {
  const start = `startDay(${JSON.stringify(script)});`;
  await page.addInitScript({ content: `(() => {\n${IN_PAGE}\n${start}\n})();` });
}

/** Lets so much of the day pass. */
export function passTime(page: Page, ms: number): Promise<void> {
  return page.evaluate((spanMs) => (globalThis as unknown as { day: Day }).day.advance(spanMs), ms);
}

export function readTold(page: Page): Promise<readonly Told[]> {
  return page.evaluate(() => [...(globalThis as unknown as { day: Day }).day.told]);
}
