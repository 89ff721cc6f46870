/** Notifications and sounds that a page would have made. */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { USER } from '../small-ledger.ts';
import { rowOf } from './board-page.ts';

/** Notifications of a browser that lets itself be asked; what is shown and heard is kept. */
export async function stubNotifications(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shown: string[] = [];
    const heard: number[] = [];
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function play(when) {
      heard.push(this.frequency.value);
      start.call(this, when);
    };
    class StubNotification {
      static permission = sessionStorage.getItem('granted') ?? 'default';

      constructor(title: string, { body }: { body: string }) {
        shown.push(`${title}: ${body}`);
      }

      static async requestPermission(): Promise<void> {
        sessionStorage.setItem('granted', 'granted');
        StubNotification.permission = 'granted';
      }
    }
    Object.assign(globalThis, { Notification: StubNotification, shown, heard });
  });
}

export const readHeard = (page: Page): Promise<number[]> =>
  page.evaluate(() => (globalThis as unknown as { heard: number[] }).heard);

export const readShown = (page: Page): Promise<string[]> =>
  page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown);

interface Raised {
  readonly name: string;
  readonly mark: string;
  /** The one notification. */
  readonly reported: RegExp;
}

/** Marked, in the title and the icon, and told by one notification with a sound. */
export async function assertRaised(page: Page, { name, mark, reported }: Raised): Promise<void> {
  await rowOf(page, USER).locator(`[data-alarm="${name}"]`).getByText(mark).waitFor();
  assert.match(await page.title(), /^⚑ 1 /);
  const icon = page.locator('link[rel="icon"]');
  assert.match((await icon.getAttribute('data-level')) ?? '', /alarm$/);
  const shown = await readShown(page);
  assert.equal(shown.length, 1, shown.join());
  assert.match(shown[0], reported);
  assert.deepEqual(await readHeard(page), [880, 1_175]);
}
