/** Positions as a file for spreadsheets. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPositionsCsv, nameOfCsv } from '../../../web/src/figures/positions-csv.ts';
import { position } from './position.ts';

/** On a dex. */
function held(dex: string, ...terms: Parameters<typeof position>) {
  return { dex, position: position(...terms) };
}

const HEADER =
  'dex,coin,szi,leverage.type,leverage.value,leverage.rawUsd,maxLeverage,entryPx,positionValue,' +
  'unrealizedPnl,returnOnEquity,liquidationPx,marginUsed,' +
  'cumFunding.allTime,cumFunding.sinceOpen,cumFunding.sinceChange\r\n';

test('every figure is written with the digits of the endpoint, lines end as RFC 4180 has them', () => {
  const text = formatPositionsCsv([
    held('', 'BTC', '-0.00060', '43000.123456789', {
      leverage: { type: 'isolated', value: 20, rawUsd: '-3913.675378' },
      unrealizedPnl: '-0.1',
      liquidationPx: '137959.8353909465',
      cumFunding: { allTime: '1.5', sinceOpen: '-0.25', sinceChange: '0.0' },
    }),
    held('abc', 'abc:ETH', '1.0', '2.0'),
  ]);
  assert.equal(
    text,
    `${HEADER},BTC,-0.00060,isolated,20,-3913.675378,10,1.0,43000.123456789,-0.1,0.0,137959.8353909465,0.0,1.5,-0.25,0.0\r\n` +
      'abc,abc:ETH,1.0,cross,5,0.0,10,1.0,2.0,0.0,0.0,,0.0,0.0,0.0,0.0\r\n',
  );
  assert.equal(formatPositionsCsv([]), HEADER);
});

test('texts are quoted where they must be, and never run as a formula', () => {
  const coinIn = (coin: string) =>
    formatPositionsCsv([held('', coin, '1.0', '2.0')])
      .slice(HEADER.length + ','.length)
      .split(',1.0,cross')[0];
  const cells: [coin: string, cell: string][] = [
    ['xyz:GOLD', 'xyz:GOLD'],
    ['a"b', '"a""b"'],
    ['a,b', '"a,b"'],
    ['a\r\nb', '"a\r\nb"'],
    ['=1+1', "'=1+1"],
    ['+A1', "'+A1"],
    ['-A1', "'-A1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['=HYPERLINK("http://x")', '"\'=HYPERLINK(""http://x"")"'],
  ];
  for (const [coin, cell] of cells) assert.equal(coinIn(coin), cell);
});

test('the file is named after the address, the dex, the height and the time of the answer', () => {
  const user = `0x${'ab'.repeat(20)}`;
  const time = Date.UTC(2025, 8, 22, 17, 22, 40, 999);
  assert.equal(
    nameOfCsv({ user, dex: undefined, height: 812, time }),
    `positions-${user}-height-812-2025-09-22T17-22-40Z.csv`,
  );
  assert.equal(
    nameOfCsv({ user, dex: '', height: 812, time }),
    `positions-${user}-first-height-812-2025-09-22T17-22-40Z.csv`,
  );
  assert.equal(
    nameOfCsv({ user, dex: 'x/y', height: undefined, time }),
    `positions-${user}-x_y-upstream-2025-09-22T17-22-40Z.csv`,
  );
});
