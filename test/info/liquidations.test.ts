/** Which reductions of positions are told as liquidations: of a small ledger by hand, and of the simulator's. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { formatAddress } from '../../src/exact/address.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { archiveOnce, withArchive } from '../archive/archived.ts';
import { answerFrom } from './histories.ts';

const place = createPlaces();

function answerOf(history: HistoryView, body: object): string {
  return answerFrom(readQuestion(body) as ArchiveQuestion, history).body;
}

interface Liquidation {
  readonly height: number;
  readonly coin: string;
  readonly szi: string;
  readonly sziAfter: string;
  readonly marginMode: string;
}

function liquidationsOf(history: HistoryView, user: string, dex = '', range = {}): Liquidation[] {
  return JSON.parse(answerOf(history, { type: 'liquidationHistory', user, dex, ...range }));
}

const user = (digit: number) => `0x${String(digit).repeat(40)}`;
const [ISOLATED, CROSS, HEALTHY, BACKED, AT_ONCE, READ] = [1, 2, 3, 4, 5, 6].map(user);
const USERS = [ISOLATED, CROSS, HEALTHY, BACKED, AT_ONCE, READ];

const transfer = (to: string, amount: string) => ({ type: 'transfer', user: to, dex: '', amount });
const leverage = (of: string, mode: string) => ({
  ...{ type: 'leverage', user: of, coin: 'BTC', mode, value: 10 },
});
const fill = (of: string, side: 'A' | 'B', sz: string, px: string) => ({
  ...{ type: 'fill', user: of, coin: 'BTC', side, sz, px, fee: '0.0' },
});
const marks = (px: string) => ({ type: 'marks', prices: { BTC: px } });

/**
 * One bitcoin at 1,000 with a leverage of 10, so 100 of margin. The maintenance margin is a twentieth of
 * the value: a mark of 940 leaves 40, which is less than 47.
 */
const BY_HAND = [
  [
    { type: 'market', coin: 'BTC', dex: '', szDecimals: 2, markPx: '1000.0', onlyIsolated: false },
    ...USERS.map((each) => transfer(each, '100.0')),
    ...USERS.map((each) => leverage(each, each === ISOLATED ? 'isolated' : 'cross')),
    ...USERS.map((each) => fill(each, 'B', '1.0', '1000.0')),
    { type: 'collateral', user: BACKED, dex: '', amount: '500.0' },
    transfer(HEALTHY, '500.0'),
  ],
  [transfer(AT_ONCE, '1.0'), fill(HEALTHY, 'A', '0.1', '1000.0')],
  [marks('940.0'), fill(AT_ONCE, 'A', '1.0', '940.0')],
  [fill(ISOLATED, 'A', '0.4', '940.0'), fill(CROSS, 'A', '2.0', '940.0')],
  [fill(ISOLATED, 'B', '0.1', '940.0'), fill(HEALTHY, 'A', '0.9', '940.0')],
  [fill(BACKED, 'A', '1.0', '940.0')],
  [{ type: 'account', user: READ, dex: '', rawUsd: '40.0', positions: [] }],
].map((events, index) => {
  const [first, ...others] = events;
  const tiers = { marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }] };
  const whole = first.type === 'market' ? { ...first, ...tiers } : first;
  return JSON.stringify({
    height: index + 1,
    time: 1000 * (index + 1),
    events: [whole, ...others],
  });
});

let byHand: string;
before(async () => {
  byHand = place();
  await appendAll(byHand, BY_HAND, NO_SNAPSHOTS);
  await archiveOnce(byHand);
});

const told = (height: number, szi: string, sziAfter: string, marginMode: string) => ({
  ...{ height, time: 1000 * height, coin: 'BTC', szi, sziAfter, markPx: '940.0', marginMode },
});

test('a position that shrinks below its maintenance margin is told, whatever shrinks it', async () => {
  await withArchive(byHand, (history) => {
    assert.deepEqual(liquidationsOf(history, ISOLATED), [told(4, '1.0', '0.6', 'isolated')]);
    // Turned around from one long to one short.
    assert.deepEqual(liquidationsOf(history, CROSS), [told(4, '1.0', '-1.0', 'cross')]);
    // Below with the marks of the very block.
    assert.deepEqual(liquidationsOf(history, AT_ONCE), [told(3, '1.0', '0.0', 'cross')]);
    // An account that was read again without the position.
    assert.deepEqual(liquidationsOf(history, READ), [told(7, '1.0', '0.0', 'cross')]);
  });
});

test('one that has enough margin, or collateral, is not', async () => {
  await withArchive(byHand, (history) => {
    assert.deepEqual(liquidationsOf(history, HEALTHY), []);
    assert.deepEqual(liquidationsOf(history, BACKED), []);
    assert.deepEqual(liquidationsOf(history, user(9)), []);
  });
});

test('only those of the times that are asked for are told, also as CSV', async () => {
  await withArchive(byHand, (history) => {
    assert.deepEqual(liquidationsOf(history, CROSS, '', { from: 4001 }), []);
    assert.deepEqual(liquidationsOf(history, CROSS, '', { to: 3999 }), []);
    assert.equal(liquidationsOf(history, CROSS, '', { from: 4000, to: 4000 }).length, 1);
    const csv = answerOf(history, { type: 'liquidationHistory', user: CROSS, format: 'csv' });
    const head = 'height,time,coin,szi,sziAfter,markPx,marginMode';
    assert.equal(csv, `${head}\r\n4,4000,BTC,1.0,-1.0,940.0,cross\r\n`);
  });
});

const ACCOUNTS = 200;
const BLOCKS = 500;

/** The size of a position as it was answered at a height. */
function sizeAt(history: HistoryView, height: number, account: object, coin: string): string {
  const question = { type: 'clearinghouseState', ...account, atHeight: height };
  const { assetPositions } = JSON.parse(answerOf(history, question)) as {
    assetPositions: { position: { coin: string; szi: string } }[];
  };
  const held = assetPositions.find(({ position }) => position.coin === coin);
  return held?.position.szi ?? '0.0';
}

test('the liquidations of the simulator are told, with the sizes before and after', async () => {
  const simulator = createSimulator({ seed: 'liquidations', accounts: ACCOUNTS });
  const data = place();
  const lines = Array.from({ length: BLOCKS }, () => simulator.next());
  await appendAll(data, lines, NO_SNAPSHOTS);
  await archiveOnce(data);
  const { addresses, markets } = simulator.state;
  let told = 0;
  await withArchive(data, (history) => {
    for (let row = 1; row <= ACCOUNTS; row++) {
      const address = formatAddress(addresses.addressOf(row));
      for (const { name: dex } of markets.dexes) {
        for (const { height, coin, szi, sziAfter } of liquidationsOf(history, address, dex)) {
          told++;
          const account = { user: address, dex };
          assert.equal(szi, sizeAt(history, height - 1, account, coin));
          assert.equal(sziAfter, sizeAt(history, height, account, coin));
          assert.equal(sziAfter, '0.0', 'the simulator closes what it liquidates');
        }
      }
    }
  });
  assert.ok(told > 0, 'nobody was liquidated');
});
