/** Every figure on the page is the endpoint's answer at the height that the page names. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, openPage, untilConnected, useBrowser } from '../browser.ts';
import { type Fields, placeOf, readPanels, type Shown, type ShownPanel } from '../page-figures.ts';
import { startDemo } from '../running-demo.ts';
import { sumUnits, toUnits, writeDecimal, writeRounded, writeWhole } from './exact.ts';
import {
  distanceTextOf,
  exposureOf,
  maintenanceShareOf,
  markOf,
  nearestOf,
  type Position,
  positionsOf,
  type States,
  totalOf,
  verdictOf,
  writeMarginRatio,
} from './naive-account.ts';
import { ToldAnswers } from './recorded-answers.ts';

const place = createPlaces();
useBrowser();
const demo = await startDemo({ after }, place());

const rounded = (text: string, decimals = 2): Shown => ({
  complete: text,
  text: writeRounded(toUnits(text), decimals),
});
const whole = (text: string): Shown => ({ complete: text, text: writeWhole(text) });
/** What is not zero has a sign, also if it is too small to be shown. */
const signedText = (text: string, shown: string): string => {
  const isTooSmall = shown === '0.00' && toUnits(text) !== 0n;
  if (isTooSmall) return toUnits(text) > 0n ? '+<0.01' : '\u2212<0.01';
  return toUnits(text) > 0n ? `+${shown}` : shown;
};
const signed = (text: string): Shown => {
  const shown = rounded(text);
  return { ...shown, text: signedText(text, shown.text) };
};

/** A field without a tooltip. */
const plain = (text: string): Shown => ({ complete: text, text });

/** The mark itself is checked by multiplying it back. */
function checkMark(position: Position, shown: Shown): void {
  assert.equal(toUnits(shown.complete), markOf(position), position.coin);
  assert.equal(shown.text, writeWhole(shown.complete));
}

function expectedLiquidation(position: Position, mark: Shown): Fields {
  const { liquidationPx, entryPx } = position;
  if (liquidationPx === null) {
    return { liquidationPx: { complete: 'the service gives no liquidation price', text: 'none' } };
  }
  const decimals = Math.max(...[entryPx, mark.complete].map((px) => px.split('.')[1].length));
  return {
    liquidationPx: rounded(liquidationPx, decimals),
    distance: plain(distanceTextOf(position) ?? ''),
  };
}

/** What a panel is about: a user, on all dexes or on one. */
interface Scope {
  readonly user: string;
  readonly dex?: string;
}

const reported = new ToldAnswers();

/** From the ledger at the height that the panel names; of one dex by a question of its own. */
async function answerFor(panel: ShownPanel, { user, dex }: Scope): Promise<States> {
  if (dex === undefined) return demo.answerOf(panel, { type: 'allDexsClearinghouseState', user });
  return [[dex, await demo.answerOf(panel, { type: 'clearinghouseState', user, dex })]];
}

/** Checks a panel against the ledger; without a height, against one of the answers that it was reported. */
async function checkAgainst<T>(
  panel: ShownPanel,
  scope: Scope,
  check: (states: States) => T,
): Promise<T> {
  if (panel.height > 0) return check(await answerFor(panel, scope));
  const { dex } = scope;
  const failures: unknown[] = [];
  // The page may have read a response before the test has.
  const answers = await until('the answer', () => {
    const found = reported.at(panel.accountTime) as States[];
    return found.length > 0 && found;
  });
  for (const states of answers) {
    try {
      return check(dex === undefined ? states : states.filter(([name]) => name === dex));
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures.at(-1);
}

const nameOf = (dex: string): string => (dex === '' ? 'first' : dex);
const describe = (dex: string): string => (dex === '' ? 'the first dex' : `dex ${dex}`);

function expectedRow(position: Position, mark: Shown): Fields {
  const { szi, leverage, returnOnEquity: roe } = position;
  const percent = writeRounded(toUnits(roe) * 100n, 2);
  return {
    side: plain(szi.startsWith('-') ? '▼ short' : '▲ long'),
    szi: whole(szi),
    positionValue: rounded(position.positionValue),
    entryPx: whole(position.entryPx),
    mark,
    unrealizedPnl: signed(position.unrealizedPnl),
    returnOnEquity: { complete: roe, text: `${signedText(roe, percent)} %` },
    leverage: plain(`${leverage.value}×`),
    mode: plain(leverage.type),
    marginUsed: rounded(position.marginUsed),
    fundingReceived: signed(negated(position.cumFunding.sinceOpen)),
    ...expectedLiquidation(position, mark),
  };
}

function negated(text: string): string {
  if (toUnits(text) === 0n) return text;
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}

/** Rows in sight are of the panel's height, each of the others of its own. */
async function checkPositions(panel: ShownPanel, scope: Scope): Promise<number> {
  const { olderRows } = panel;
  for (const height of new Set(Object.values(olderRows).filter((one) => one > 0))) {
    const states = await answerFor({ ...panel, height }, scope);
    compareRows(panel, scope, states, (coin) => olderRows[coin] === height);
  }
  return checkAgainst(panel, scope, (states) => comparePositions(panel, scope, states));
}

function compareRows(
  { rows }: ShownPanel,
  scope: Scope,
  states: States,
  isCompared: (coin: string) => boolean,
): void {
  for (const [dex, account] of states) {
    const column = scope.dex === undefined ? { dex: plain(nameOf(dex)) } : {};
    for (const position of positionsOf([[dex, account]])) {
      if (!isCompared(position.coin)) continue;
      const shown = rows[position.coin];
      checkMark(position, shown['mark']);
      const expected = { ...column, ...expectedRow(position, shown['mark']) };
      assert.deepEqual(shown, expected, position.coin);
    }
  }
}

function comparePositions(panel: ShownPanel, scope: Scope, states: States) {
  const { order, fields, olderRows } = panel;
  const positions = positionsOf(states);
  assert.deepEqual(
    order,
    positions.map(({ coin }) => coin),
  );
  compareRows(panel, scope, states, (coin) => !(olderRows[coin] > 0));
  if (positions.length === 0) return 0;
  const value = totalOf(states, ({ marginSummary }) => marginSummary.totalNtlPos);
  assert.deepEqual(fields['sumValue'], rounded(value));
  const margin = totalOf(states, ({ marginSummary }) => marginSummary.totalMarginUsed);
  assert.deepEqual(fields['sumMargin'], rounded(margin));
  const pnl = sumUnits(positions.map(({ unrealizedPnl }) => unrealizedPnl));
  assert.equal(toUnits(fields['sumPnl'].complete), pnl);
  const funding = sumUnits(positions.map(({ cumFunding }) => cumFunding.sinceOpen));
  assert.equal(toUnits(fields['sumFunding'].complete), -funding);
  return positions.length;
}

function expectedExposure(positions: readonly Position[]): Fields {
  const { unrealizedPnl, long, short, net } = exposureOf(positions);
  return {
    unrealizedPnl: signed(writeDecimal(unrealizedPnl)),
    long: rounded(writeDecimal(long)),
    short: rounded(writeDecimal(short)),
    net: rounded(writeDecimal(net)),
  };
}

/** Leverage, and which position is the nearest to its liquidation. */
function checkHeadline(
  positions: readonly Position[],
  { accountValue, totalNtlPos }: { accountValue: string; totalNtlPos: string },
  shown: { nearestLiquidation?: Shown; accountLeverage?: Shown },
): void {
  const value = toUnits(accountValue);
  const leverage = value > 0n ? (toUnits(totalNtlPos) * 10n ** 20n) / value : undefined;
  const text = leverage === undefined ? undefined : `${writeRounded(leverage, 2)}×`;
  assert.equal(shown.accountLeverage?.text, text);
  const nearest = nearestOf(positions);
  assert.equal(shown.nearestLiquidation?.text, nearest && `${nearest.coin}, ${nearest.distance}`);
}

/** The gauge is about the first of the dexes on which maintenance takes the most. */
function expectedGauge(states: States): Fields {
  const [dex, account] = states.reduce((worst, next) =>
    maintenanceShareOf(next[1]) > maintenanceShareOf(worst[1]) ? next : worst,
  );
  const where = states.length > 1 ? { tightestDex: plain(`on ${describe(dex)}`) } : {};
  return {
    ...where,
    crossMaintenanceMarginUsed: rounded(account.crossMaintenanceMarginUsed),
    crossAccountValue: rounded(account.crossMarginSummary.accountValue),
    maintenanceShare: plain(writeMarginRatio(maintenanceShareOf(account))),
  };
}

/** The verdict is about all dexes, whichever is shown. */
async function checkAccount(panel: ShownPanel, scope: Scope): Promise<void> {
  await checkAgainst(panel, scope, (states) => compareAccount(panel, states));
  await checkAgainst(panel, { user: scope.user }, (states) => {
    const { word, cause } = verdictOf(states);
    const { verdict, cause: named } = panel.fields;
    assert.deepEqual([verdict?.text, named?.text ?? ''], [word, cause]);
  });
}

function compareAccount(panel: ShownPanel, states: States): void {
  const { nearestLiquidation, accountLeverage, verdict, cause, ...fields } = panel.fields;
  const positions = positionsOf(states);
  const accountValue = totalOf(states, ({ marginSummary }) => marginSummary.accountValue);
  const totalNtlPos = totalOf(states, ({ marginSummary }) => marginSummary.totalNtlPos);
  const totalMarginUsed = totalOf(states, ({ marginSummary }) => marginSummary.totalMarginUsed);
  checkHeadline(positions, { accountValue, totalNtlPos }, { nearestLiquidation, accountLeverage });
  assert.deepEqual(fields, {
    ...expectedExposure(positions),
    ...expectedGauge(states),
    accountValue: rounded(accountValue),
    totalMarginUsed: rounded(totalMarginUsed),
    withdrawable: rounded(totalOf(states, ({ withdrawable }) => withdrawable)),
    totalNtlPos: rounded(totalNtlPos),
  });
}

async function checkStakes(panel: ShownPanel, user: string) {
  const { rows, order, fields } = panel;
  const answer = await demo.answerOf(panel, { type: 'delegations', user });
  const stakes: { validator: string; amount: string }[] = answer;
  assert.deepEqual(
    order,
    stakes.map(({ validator }) => validator),
  );
  if (stakes.length === 0) return 0;
  const total = sumUnits(stakes.map(({ amount }) => amount));
  assert.equal(toUnits(fields['sumAmount'].complete), total);
  for (const { validator, amount } of stakes) {
    const { amount: shown, share, unlock } = rows[validator];
    assert.deepEqual(shown, whole(amount));
    const part = (toUnits(amount) * 10n ** 22n) / total;
    assert.equal(share.text, `${writeRounded(part, 2)} %`);
    assert.match(unlock.text, /^(✓ unlocked|in \d.*)$/);
  }
  return stakes.length;
}

async function checkAuction(panel: ShownPanel): Promise<void> {
  const { fields } = panel;
  const answer = await demo.answerOf(panel, { type: 'perpDeployAuctionStatus' });
  const { text, complete } = fields['currentGas'];
  assert.deepEqual(
    { text, complete },
    {
      text: `${rounded(answer.currentGas, 4).text} gas`,
      complete: answer.currentGas,
    },
  );
  assert.deepEqual(fields['startGas'], whole(answer.startGas));
}

/** All panels of a user, once they have answers. */
async function readUser(page: Page, user: string): Promise<Record<string, ShownPanel>> {
  await page.getByLabel('Address').fill(user);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  return until('all panels', async () => {
    const panels = await readPanels(page);
    const names = ['account', 'positions', 'stakes', 'auction'];
    return names.every((name) => placeOf(panels[name]) > 0) && panels;
  });
}

browserTest('every figure equals the answer at its height, user by user', async () => {
  const page = await openPage(demo.url, { prepare: async (opened) => reported.watch(opened) });
  await untilConnected(page);
  let positionCount = 0;
  let stakeCount = 0;
  for (const user of demo.users) {
    const { account, positions, stakes, auction } = await readUser(page, user);
    await checkAccount(account, { user });
    positionCount += await checkPositions(positions, { user });
    stakeCount += await checkStakes(stakes, user);
    await checkAuction(auction);
  }
  assert.ok(positionCount >= 5 && stakeCount >= 1, `${positionCount} ${stakeCount}`);
});

browserTest(
  'figures stay right while the ledger goes on, without a reload',
  async () => {
    const page = await openPage(demo.url, { prepare: async (opened) => reported.watch(opened) });
    await untilConnected(page);
    const places = new Set<number>();
    const scope = { user: demo.users[0] };
    while (places.size < 4) {
      const { account, positions } = await until('a new height', async () => {
        const panels = await readPanels(page);
        const place = placeOf(panels['account']);
        return place > 0 && !places.has(place) && panels;
      });
      places.add(placeOf(account));
      await checkAccount(account, scope);
      await checkPositions(positions, scope);
    }
  },
  LONG_ONLY,
);

browserTest(
  'a dex is a filter: its own figures, at once, from the answer that is there',
  async () => {
    const page = await openPage(demo.url, { prepare: async (opened) => reported.watch(opened) });
    await untilConnected(page);
    const places: string[] = [];
    let seen = 0;
    for (const user of demo.users) {
      await readUser(page, user);
      for (const dex of ['', 'abc', 'idx']) {
        await page.locator(`input[name="dex"][value="${nameOf(dex)}"]`).check();
        await page.locator('.panel-account .tag', { hasText: describe(dex) }).waitFor();
        const { account, positions } = await readPanels(page);
        await checkAccount(account, { user, dex });
        const count = await checkPositions(positions, { user, dex });
        if (dex !== '') seen += count;
        const label = page.locator('.dexes label', {
          has: page.locator(`[value="${nameOf(dex)}"]`),
        });
        if (count > 1) await label.filter({ hasText: /, \d+ positions/ }).waitFor();
        places.push(new URL(page.url()).hash);
      }
      await page.locator('input[name="dex"][value="all"]').check();
    }
    assert.ok(seen > 0, 'an example user has positions on a second dex');
    const [first, second] = places;
    assert.match(first, /&dex=FIRST$/);
    assert.match(second, /&dex=abc$/);
    assert.doesNotMatch(page.url(), /dex=/);
  },
  LONG_ONLY,
);
