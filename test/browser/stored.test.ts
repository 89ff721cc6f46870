/** What the chart keeps in the browser: as long as its ranges, and no longer. */

import assert from 'node:assert/strict';
import { createPlaces } from '../../tools/harness/program.ts';
import { makeLedger, until } from '../../tools/harness/running.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, openPage, untilConnected, useBrowser } from './browser.ts';
import { formatBlock } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';
import { readStored, type StoredPoint, storeAndRead } from './stored-points.ts';

const place = createPlaces();
useBrowser();

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** On both sides of how long each range is kept. */
const AGES = [
  { range: '15 min', retentionMs: 10 * MINUTE_MS, droppedMs: 16 * MINUTE_MS },
  { range: '6 h', retentionMs: 5.9 * HOUR_MS, droppedMs: 6.1 * HOUR_MS },
  { range: '7 d', retentionMs: 6.9 * 24 * HOUR_MS, droppedMs: 7.1 * 24 * HOUR_MS },
];

browserTest(
  'stored points that are older than their range are gone when new ones are saved',
  async (context) => {
    const start = Date.now();
    const { url, data } = await serveSmall(context, { data: place(), time: start });
    const page = await openPage(url, { expected: /status of 422/ });
    await untilConnected(page);
    const chart = page.locator('figure.chart-box');
    const untilPoints = (count: number) =>
      until(`${count} points`, async () => {
        return Number(await chart.getAttribute('data-points')) === count;
      });
    await untilPoints(1);
    let height = 1;
    const untilSaved = async (isSaved: (points: readonly StoredPoint[]) => boolean) => {
      height++;
      const marks = { type: 'marks', prices: { BTC: `${86_000 + height}.0` } };
      await makeLedger(data, [formatBlock(height, start + height * (MINUTE_MS + 1_000), [marks])]);
      return until('points to be saved', async () => {
        const points = await readStored(page);
        return isSaved(points) && points;
      });
    };
    const [{ account }] = await untilSaved((points) => points.length === AGES.length);
    const pointOf = (range: string, ageMs: number, owner: string): StoredPoint => ({
      ...{ account: owner, range, time: start - ageMs, value: '1.0', isAfterGap: false },
    });
    // Whoever was looked at a week ago is forgotten too.
    const owners = [account, 'another account'];
    const kept = owners.flatMap((one) =>
      AGES.map((age) => pointOf(age.range, age.retentionMs, one)),
    );
    const old = owners.flatMap((one) => AGES.map((age) => pointOf(age.range, age.droppedMs, one)));
    await storeAndRead(page, [...kept, ...old]);
    const isOld = ({ range, time }: StoredPoint) =>
      old.some((point) => point.range === range && point.time === time);
    const points = await untilSaved((found) => !found.some(isOld));
    for (const point of kept) {
      const found = points.filter(
        ({ range, time }) => range === point.range && time === point.time,
      );
      assert.equal(found.length, owners.length, point.range);
    }
    await page.reload();
    await page.getByRole('button', { name: '7 d' }).click();
    // The kept one, and those of this run.
    await untilPoints(1 + height);
  },
  LONG_ONLY,
);
