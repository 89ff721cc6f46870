/** Small ledgers, and answers that were read. */

import assert from 'node:assert/strict';
import { parseBlock } from '../../../src/events/event.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import { DialectError } from '../../../src/upstream/dialect/dialect.ts';

export const TIME = 1_758_556_800_000;
export const USER = '0xeaa346d93e222853a2229e2fbb584830fa478fd2';

/** The ledger after one more block of these events. */
export function append(state: State, events: readonly unknown[], time = TIME): State {
  const block = { height: state.height + 1, time, events };
  applyBlock(state, parseBlock(JSON.stringify(block)));
  return state;
}

/** A partial ledger with these events in its first block. */
export function partialLedger(...events: readonly unknown[]): State {
  return append(createState(), [{ type: 'partial' }, ...events]);
}

export function market(coin: string, terms: Record<string, unknown> = {}) {
  const colon = coin.indexOf(':');
  return {
    type: 'market',
    dex: colon === -1 ? '' : coin.slice(0, colon),
    coin,
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 20 }],
    onlyIsolated: false,
    markPx: '100.0',
    ...terms,
  };
}

export const DEX = {
  type: 'perpDex',
  dex: 'xyz',
  fullName: 'Commodities',
  deployer: '0x3898092b3dfd038e1e3e47bc3165ad77181d6b9e',
};

export function mustRead<T>(reading: T | DialectError): T {
  if (reading instanceof DialectError) assert.fail(reading.message);
  return reading;
}

export function mustRefuse(reading: unknown, fault: string, message: string): void {
  assert.ok(reading instanceof DialectError, `read, although ${message}`);
  assert.deepEqual([reading.fault, reading.message], [fault, message]);
}
