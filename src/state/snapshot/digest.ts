/**
 * The bytes that `stateDigest` hashes: the logical state, in an order that depends only on the
 * ledger. Links between rows, free rows, indexes and spare capacity are not included.
 *
 * Layout: all numbers are little-endian doubles (f64); a text is its length (f64) and its UTF-16
 * code units (f64 each).
 *
 *   height, time, partial (0 or 1)
 *   dex count, then each dex: name, full name, deployer ("" for none)
 *   market count, then each market: coin, dex index, size decimals, only isolated (0 or 1), mark
 *     price, tier count, then each tier: lower bound, max leverage
 *   address count, then each address in order of first appearance: its four words; its delegations
 *     seen (0 if no event has named them, else 1 more than the time they were last read);
 *     its accounts in dex order, each: 1, dex index, cash, order margin, collateral, time of
 *       reading;
 *       its positions in market order, each: 2, terms, size, entry notional, raw USD, funding
 *       all-time, since open, since change;
 *     its delegations in order of creation, each: 3, the validator's place in the list of
 *       addresses, amount as text, locked until
 *   auction: 0 before the first auction event, 2 if there is no auction; else 1, start, duration,
 *     start gas, floor gas, end gas ("" for none)
 *   only if a position has had separate margin tiers: count of the different tables, then each
 *     table in order of first appearance: tier count, then each tier: lower bound, max leverage
 *   only if there is one: -1, the list of dexes of another server
 *   each list of markets of another server, in dex order: -2, dex index, the list
 *   each mode of an account, in the order of their first events: -3, the address's place in the
 *     list of addresses, the mode
 *
 * The terms of a position name its own margin table by the place of the table in the list of the
 * different tables, from 1: see columns.ts.
 */

import { MODE_ADDRESS_ROW } from '../account-modes.ts';
import { DELEGATIONS_SEEN, FIRST_ACCOUNT, FIRST_DELEGATION } from '../addresses.ts';
import type { TierTerms } from '../markets/margin-tiers.ts';
import { delegatedAmount, LOCKED_UNTIL, NEXT_DELEGATION, VALIDATOR } from '../staking.ts';
import type { StateView } from '../state.ts';
import * as column from '../tables/columns.ts';

const TAG_ACCOUNT = 1;
const TAG_POSITION = 2;
const TAG_DELEGATION = 3;
const TAG_DEXES = -1;
const TAG_UNIVERSE = -2;
const TAG_MODE = -3;

const CHUNK_BYTES = 65_536;

/** Collects doubles into chunks of bytes. */
class ByteSink {
  readonly #view = new DataView(new ArrayBuffer(CHUNK_BYTES));
  #length = 0;
  readonly #full: Uint8Array[] = [];

  number(value: number): void {
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
    if (this.#length === CHUNK_BYTES) this.#cut();
  }

  text(value: string): void {
    this.number(value.length);
    for (let index = 0; index < value.length; index++) this.number(value.charCodeAt(index));
  }

  #cut(): void {
    this.#full.push(new Uint8Array(this.#view.buffer.slice(0, this.#length)));
    this.#length = 0;
  }

  /** Removes and returns the full chunks; with `isLast`, the partial chunk too. */
  take(isLast = false): Uint8Array[] {
    if (isLast && this.#length > 0) this.#cut();
    return this.#full.splice(0);
  }
}

export function* digestBytes(state: StateView): Generator<Uint8Array> {
  const sink = new ByteSink();
  sink.number(state.height);
  sink.number(state.time);
  sink.number(state.isPartial ? 1 : 0);
  putDexes(sink, state);
  putMarkets(sink, state);
  sink.number(state.addresses.table.rowCount - 1);
  for (let row = 1; row < state.addresses.table.rowCount; row++) {
    putAddress(sink, state, row);
    yield* sink.take();
  }
  putAuction(sink, state);
  putTierTables(sink, state);
  putUniverses(sink, state);
  putModes(sink, state);
  yield* sink.take(true);
}

function putDexes(sink: ByteSink, { markets }: StateView): void {
  sink.number(markets.dexes.length);
  for (const { name, fullName, deployer } of markets.dexes) {
    sink.text(name);
    sink.text(fullName);
    sink.text(deployer ?? '');
  }
}

function putMarkets(sink: ByteSink, { markets }: StateView): void {
  sink.number(markets.markets.length);
  markets.markets.forEach((market, index) => {
    sink.text(market.coin);
    sink.number(market.dexIndex);
    sink.number(market.sizeDecimals);
    sink.number(market.onlyIsolated ? 1 : 0);
    sink.number(markets.markPrice(index));
    putTiers(sink, market.tiers);
  });
}

function putTiers(sink: ByteSink, tiers: readonly TierTerms[]): void {
  sink.number(tiers.length);
  for (const { lowerBound, maxLeverage } of tiers) {
    sink.number(lowerBound);
    sink.number(maxLeverage);
  }
}

function putAddress(sink: ByteSink, state: StateView, row: number): void {
  const { word0, word1, word2, word3 } = state.addresses.addressOf(row);
  for (const word of [word0, word1, word2, word3]) sink.number(word);
  sink.number(state.addresses.table.get(row, DELEGATIONS_SEEN));
  let account = state.addresses.table.get(row, FIRST_ACCOUNT);
  for (; account !== 0; account = state.accounts.get(account, column.NEXT_ACCOUNT)) {
    putAccount(sink, state, account);
  }
  let delegation = state.addresses.table.get(row, FIRST_DELEGATION);
  for (; delegation !== 0; delegation = state.delegations.get(delegation, NEXT_DELEGATION)) {
    sink.number(TAG_DELEGATION);
    sink.number(state.delegations.get(delegation, VALIDATOR));
    sink.text(delegatedAmount(state, delegation).toString());
    sink.number(state.delegations.get(delegation, LOCKED_UNTIL));
  }
}

const ACCOUNT_COLUMNS = [
  column.ACCOUNT_DEX,
  column.CASH,
  column.ORDER_MARGIN,
  column.COLLATERAL,
  column.ACCOUNT_TIME,
];
const POSITION_COLUMNS = [
  column.TERMS,
  column.SIZE,
  column.ENTRY_NOTIONAL,
  column.RAW_USD,
  column.FUNDING_ALL_TIME,
  column.FUNDING_SINCE_OPEN,
  column.FUNDING_SINCE_CHANGE,
];

function putAccount(sink: ByteSink, state: StateView, account: number): void {
  sink.number(TAG_ACCOUNT);
  for (const column of ACCOUNT_COLUMNS) sink.number(state.accounts.get(account, column));
  let position = state.accounts.get(account, column.FIRST_POSITION);
  for (; position !== 0; position = state.positions.get(position, column.NEXT_POSITION)) {
    sink.number(TAG_POSITION);
    for (const column of POSITION_COLUMNS) sink.number(state.positions.get(position, column));
  }
}

function putAuction(sink: ByteSink, { auction }: StateView): void {
  if (auction === undefined || auction === null) {
    sink.number(auction === undefined ? 0 : 2);
    return;
  }
  sink.number(1);
  sink.number(auction.startTimeSeconds);
  sink.number(auction.durationSeconds);
  sink.text(auction.startGas.toString());
  sink.text(auction.floorGas.toString());
  sink.text(auction.endGas?.toString() ?? '');
}

function putTierTables(sink: ByteSink, { markets }: StateView): void {
  const { all } = markets.tierTables;
  if (all.length === 0) return;
  sink.number(all.length);
  for (const tiers of all) putTiers(sink, tiers);
}

/** A ledger without these lists has the same digest as in versions that did not know the lists. */
function putUniverses(sink: ByteSink, { universes, markets }: StateView): void {
  if (universes.dexes !== undefined) {
    sink.number(TAG_DEXES);
    sink.text(universes.dexes.text);
  }
  for (const dexIndex of markets.dexes.keys()) {
    const universe = universes.byDex.get(dexIndex);
    if (universe === undefined) continue;
    sink.number(TAG_UNIVERSE);
    sink.number(dexIndex);
    sink.text(universe.text);
  }
}

function putModes(sink: ByteSink, { modes }: StateView): void {
  for (let row = 1; row < modes.table.rowCount; row++) {
    const addressRow = modes.table.get(row, MODE_ADDRESS_ROW);
    sink.number(TAG_MODE);
    sink.number(addressRow);
    sink.text(modes.find(addressRow) ?? '');
  }
}
