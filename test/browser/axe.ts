/** Checks a page by axe-core. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core leaves in the page: evaluated there once, it stays until the page is left. */
type WithAxe = typeof globalThis & { axe?: { run(options: RunOptions): Promise<AxeResults> } };

export async function assertAccessible(page: Page): Promise<void> {
  // Evaluated instead of added as a script, which the content security policy forbids.
  if (await page.evaluate(() => (globalThis as WithAxe).axe === undefined))
    await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    // What is in order is not described, which would take as long as finding it.
    const results = await (globalThis as WithAxe).axe?.run({ resultTypes: ['violations'] });
    return results?.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`,
    );
  });
  assert.deepEqual(found, []);
}
