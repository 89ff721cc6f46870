/** The board's figures as they move: pushed, summed and sorted. */

import assert from 'node:assert/strict';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { toUnits } from '../account/exact.ts';
import { browserTest, useBrowser } from '../browser.ts';
import { accountOf, delegation, formatBlock, OTHER, USER, VALIDATORS } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { openBoard, readRows, rowOf, type ShownRow, untilKnown } from './board-page.ts';

const place = createPlaces();
useBrowser();

const DAY_MS = 86_400_000;
const THIRD = `0x${'ef'.repeat(20)}`;
/** Long only, worth 6,000. */
const LONG_ONE = accountOf(OTHER, '-9000.0', [{ coin: 'SOL', szi: '100.0', entryNtl: '15001.5' }]);
/** Short only, worth 1,200, and not far from its liquidation. */
const SHORT_ONE = accountOf(THIRD, '10500.0', [{ coin: 'ETH', szi: '-3.0', entryNtl: '9300.004' }]);

const marks = (prices: Record<string, string>) => ({ type: 'marks', prices });

browserTest(
  'new figures come by push: nothing is asked for',
  async (context) => {
    const { url, data } = await serveSmall(context, { data: place(), events: [LONG_ONE] });
    const pushed: number[] = [];
    const page = await openBoard(url, `${USER}\n${OTHER}`, {
      expected: /status of 422/,
      prepare: async (opened) => {
        opened.on('websocket', (socket) =>
          socket.on('framereceived', ({ payload }) => {
            const { channel, data: reported } = JSON.parse(String(payload));
            const isOther = channel === 'allDexsClearinghouseState' && reported.user === OTHER;
            if (isOther) pushed.push(reported.height);
          }),
        );
      },
    });
    await untilKnown(page, 2);
    await until('all to be pushed', async () => {
      const rows = await readRows(page);
      return pushed.length > 0 && rows.every(({ stakes }) => stakes.height > 0);
    });
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.postData() ?? '');
    });
    for (const height of [2, 3]) {
      const block = formatBlock(height, Date.now(), [marks({ SOL: `${150 + height}.0` })]);
      await makeLedger(data, [block]);
      await until(`height ${height}`, async () => {
        const rows = await readRows(page);
        return rows.every((row) => row.height === height);
      });
      const value = rowOf(page, OTHER).locator('[data-field="value"]');
      assert.equal(await value.getAttribute('title'), `${6_000 + 100 * height}.0`);
    }
    assert.deepEqual(asked, []);
    assert.deepEqual([...new Set(pushed)], [1, 2, 3]);
  },
  LONG_ONLY,
);

/** With all digits. */
const SUMS = {
  sumValue: '71650.75',
  sumChange: '50.75',
  sumLong: '73050.75',
  sumShort: '12400.0',
  sumNet: '60650.75',
  sumPnl: '1149.25',
};

browserTest(
  'the sums are those of all rows, to the last digit',
  async (context) => {
    const { url, data } = await serveSmall(context, { data: place(), events: [LONG_ONE] });
    const page = await openBoard(url, `${USER}\n${OTHER}`, { expected: /status of 422/ });
    await until('the starts of the day', async () => {
      const starts = (await readRows(page)).map(({ user, dayStart }) => [user, dayStart]);
      const { [USER]: first, [OTHER]: second } = Object.fromEntries(starts);
      return first === '65600.0' && second === '6000.0';
    });
    const block = formatBlock(2, Date.now(), [marks({ BTC: '86001.5', SOL: '150.25' })]);
    await makeLedger(data, [block]);
    const readSums = () =>
      page.evaluate(() => {
        const fields = document.querySelectorAll<HTMLElement>('.board tfoot .figure');
        const entries = Array.from(fields, ({ dataset, title }) => [dataset['field'], title]);
        return Object.fromEntries(entries) as Record<string, string>;
      });
    const sums = await until('the sums to move', async () => {
      const found = await readSums();
      return found['sumValue'] === SUMS.sumValue && found['sumChange'] !== '0.0' && found;
    });
    assert.deepEqual(sums, SUMS);
  },
  LONG_ONLY,
);

/** By what a row is sorted, read off what it shows. */
const amountOf = (field: string) => (row: ShownRow) => toUnits(row.complete[field]);
const RISKS = ['nothing at risk', 'healthy', 'watch', 'at risk'];

/** Headings, what they sort by, and which end is first at the first click. */
const HEADINGS: readonly (readonly [string, (row: ShownRow) => bigint | string, 1 | -1])[] = [
  ['Account', ({ user }) => user, 1],
  ['Value', amountOf('value'), -1],
  ['Today', amountOf('change'), -1],
  [
    'Nearest liquidation',
    ({ texts }) => toUnits(/([\d.]+) %/.exec(texts['nearest'])?.[1] ?? ''),
    1,
  ],
  ['Risk', ({ texts }) => BigInt(RISKS.indexOf(texts['risk'])), -1],
  ['Long', amountOf('long'), -1],
  ['Short', amountOf('short'), -1],
  ['Net', amountOf('net'), -1],
  ['Profit', amountOf('unrealizedPnl'), -1],
  ['Next unlock', ({ stakes }) => BigInt(stakes.unlockTime), 1],
];

browserTest(
  'a click on any heading sorts by what its column shows, a second one the other way',
  async (context) => {
    const stakes = [
      delegation(VALIDATORS[0], '5.0', Date.now() + 3 * DAY_MS, OTHER),
      delegation(VALIDATORS[0], '5.0', Date.now() + 2 * DAY_MS),
      delegation(VALIDATORS[0], '5.0', Date.now() + 4 * DAY_MS, THIRD),
    ];
    const events = [LONG_ONE, SHORT_ONE, ...stakes];
    const { url, data } = await serveSmall(context, { data: place(), events });
    const page = await openBoard(url, `${THIRD}\n${USER}\n${OTHER}`, { expected: /status of 422/ });
    await until('stakes and starts of the day', async () => {
      const rows = await readRows(page);
      return (
        rows.length === 3 && rows.every((row) => row.stakes.unlockTime > 0 && row.dayStart !== '')
      );
    });
    const moved = marks({ BTC: '86010.0', ETH: '3101.0', SOL: '149.9' });
    await makeLedger(data, [formatBlock(2, Date.now(), [moved])]);
    await until('the changes', async () =>
      (await readRows(page)).every(({ height }) => height === 2),
    );
    for (const [label, keyOf, direction] of HEADINGS) {
      const heading = page.getByRole('columnheader', { name: label });
      for (const sign of [direction, -direction]) {
        await heading.getByRole('button').click();
        const word = sign === 1 ? 'ascending' : 'descending';
        await until(`${label} to be ${word}`, async () => {
          return (await heading.getAttribute('aria-sort')) === word;
        });
        const keys = (await readRows(page)).map(keyOf);
        assert.equal(new Set(keys).size, label === 'Risk' ? 2 : 3, `${label}: ${keys}`);
        const sorted = keys.toSorted((a, b) => (a === b ? 0 : sign * (a < b ? -1 : 1)));
        assert.deepEqual(keys, sorted, `${label}, ${word}`);
      }
    }
  },
  LONG_ONLY,
);
