/** A board of 500 live accounts draws as many frames as one without any: `npm run bench:board` has figures. */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { Roster } from '../../src/feed/simulator/roster.ts';
import { createPlaces } from '../cli/program.ts';
import { FULL_ONLY } from '../scale.ts';
import { until } from '../service/running.ts';
import { browserTest, openPage, useBrowser } from './browser.ts';
import { startDemo } from './running-demo.ts';
import { openStoredBoard } from './stored-board.ts';

useBrowser();
const place = createPlaces();
const ACCOUNTS = 500;
/** Of the demo. */
const SEED = '7';
const roster = new Roster({ seed: SEED, userCount: ACCOUNTS, startsWithAllUsers: false });
const users = Array.from({ length: ACCOUNTS }, (_, index) => roster.user(index).text);

const ROUNDS = 4;
const ROUND_MS = 3_000;
/** Rounds take turns, so that what else the machine does slows down both: this much is left to chance. */
const SHARE_MIN = 0.9;

/** Frames within so many milliseconds, and the figures of the board that have changed meanwhile. */
async function countFrames(page: Page): Promise<{ frames: number; changes: number }> {
  await page.bringToFront();
  return page.evaluate(async (measuredMs) => {
    let [frames, changes] = [0, 0];
    const observer = new MutationObserver((records) => {
      changes += records.length;
    });
    observer.observe(document.body, { characterData: true, subtree: true });
    await new Promise<void>((resolve) => {
      const startMs = performance.now();
      const note = (nowMs: number) => {
        frames++;
        if (nowMs - startMs < measuredMs) requestAnimationFrame(note);
        else resolve();
      };
      requestAnimationFrame(note);
    });
    observer.disconnect();
    return { frames, changes };
  }, ROUND_MS);
}

browserTest(
  'a board of 500 accounts has the frames of an empty one',
  async (context) => {
    const demo = await startDemo(context, place(), '--accounts', String(ACCOUNTS));
    const empty = await openPage(demo.url);
    await empty.getByRole('link', { name: 'Board' }).click();
    const full = await openStoredBoard(demo.url, users);
    const sum = full.locator('.board tfoot th');
    await until('all accounts', async () =>
      (await sum.innerText()).startsWith(`Sum of ${ACCOUNTS}\n`),
    );
    const counted = { empty: 0, full: 0, changes: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      counted.empty += (await countFrames(empty)).frames;
      const { frames, changes } = await countFrames(full);
      counted.full += frames;
      counted.changes += changes;
    }
    assert.ok(counted.changes > ACCOUNTS, `it is live: ${counted.changes} changes`);
    assert.ok(counted.full >= SHARE_MIN * counted.empty, JSON.stringify(counted));
  },
  FULL_ONLY,
);
