/**
 * A day of an account within minutes: the page has a clock that the test moves, and a service that is
 * scripted, in the page itself, since a message from outside takes longer than a second of such a day.
 */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import type { Day, DayScript, Told } from './day-in-page.ts';

/** Compiled; without what makes it a module, as which it would come too late. */
const IN_PAGE = readFileSync(path.join(import.meta.dirname, 'day-in-page.js'), 'utf8').replace(
  /^export \{\};$/m,
  '',
);

export async function stageDay(page: Page, script: DayScript): Promise<void> {
  const start = `startDay(${JSON.stringify(script)});`;
  await page.addInitScript({ content: `(() => {\n${IN_PAGE}\n${start}\n})();` });
}

/** Lets so much of the day pass. */
export function tick(page: Page, ms: number): Promise<void> {
  return page.evaluate((spanMs) => (globalThis as unknown as { day: Day }).day.advance(spanMs), ms);
}

export function readTold(page: Page): Promise<readonly Told[]> {
  return page.evaluate(() => [...(globalThis as unknown as { day: Day }).day.reported]);
}
