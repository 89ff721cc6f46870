/** Checks a page by axe-core. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function assertAccessible(page: Page): Promise<void> {
  // Evaluated instead of added as a script, which the content security policy forbids.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => {
    const { axe: run } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    return run.run();
  });
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
  assert.deepEqual(found, []);
}
