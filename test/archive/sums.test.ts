/** What an accountant does with a series as CSV: it is read strictly, and the sums are checked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { formatAddress } from '../../src/exact/address.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createPlaces, run, succeed } from '../../tools/harness/program.ts';
import { makeLedger } from '../../tools/harness/running.ts';
import type { WireBlock } from '../../tools/naive-twin/naive-block.ts';
import { Book, usdOf } from '../../tools/naive-twin/naive-book.ts';
import { ALSO_LONG, scale } from '../scale.ts';

const BLOCKS = scale(300, 600);
const ACCOUNTS = scale(4, 12);
const DEX = '';

type Row = Record<string, string>;

const place = createPlaces();
const simulator = createSimulator({ seed: 'sums', accounts: ACCOUNTS });
const lines = Array.from({ length: BLOCKS }, () => simulator.next());
const users = Array.from({ length: ACCOUNTS }, (_, index) =>
  formatAddress(simulator.state.addresses.addressOf(index + 1)),
);

/** The profit of each account after each block, from the events alone. */
function keepBook(): Map<number, Map<string, bigint>> {
  const book = new Book();
  const profits = new Map<number, Map<string, bigint>>();
  for (const line of lines) {
    const { height, events } = JSON.parse(line) as WireBlock;
    for (const event of events) book.record(event);
    profits.set(height, new Map(users.map((user) => [user, book.profitOf(user, DEX)])));
  }
  return profits;
}

/** Refuses rows of another length, quotes that are not closed, and line ends other than the standard's. */
function parseStrictly(text: string): Row[] {
  return parse(text, { columns: true, record_delimiter: '\r\n', relax_quotes: false });
}

async function readHistory(data: string, user: string): Promise<Row[]> {
  const args = ['history', '--data', data, '--user', user, '--step', '10s', '--format', 'csv'];
  const { stdout } = await succeed(args);
  return parseStrictly(stdout);
}

test('opening value, transfers and profit give the closing value', ALSO_LONG, async () => {
  const data = await makeLedger(place(), lines);
  assert.equal((await run(['archive', '--data', data, '--once'])).code, 0);
  const profits = keepBook();
  let compared = 0;
  for (const user of users) {
    const rows = await readHistory(data, user);
    const profitAt = (row: Row) => profits.get(Number(row['height']))?.get(user) ?? assert.fail();
    const opening = rows[0];
    for (const closing of rows) {
      const transfers = usdOf(closing['netTransfers']) - usdOf(opening['netTransfers']);
      const profit = profitAt(closing) - profitAt(opening);
      const sum = usdOf(opening['accountValue']) + transfers + profit;
      assert.equal(usdOf(closing['accountValue']), sum, `${user} at ${closing['height']}`);
      compared++;
    }
  }
  assert.ok(compared > 500, `${compared} rows`);
});
