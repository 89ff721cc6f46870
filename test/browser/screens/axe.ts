/** Checks a page by axe-core. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core leaves in the page: evaluated there once, it stays until the page is left. */
type WithAxe = typeof globalThis & {
  axe?: { run(within: string, options: RunOptions): Promise<AxeResults> };
};

/** `within`: a selector of the part that is looked at. */
export async function assertAccessible(page: Page, within = 'html'): Promise<void> {
  // Evaluated instead of added as a script, which the content security policy forbids.
  if (await page.evaluate(() => (globalThis as WithAxe).axe === undefined))
    await page.evaluate(axe);
  const found = await page.evaluate(async (selector) => {
    // What is in order is not described, which would take as long as finding it.
    const options: RunOptions = { resultTypes: ['violations'] };
    const results = await (globalThis as WithAxe).axe?.run(selector, options);
    return results?.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`,
    );
  }, within);
  assert.deepEqual(found, []);
}
