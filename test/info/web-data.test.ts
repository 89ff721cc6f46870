/** `webData2`: one answer composed of several others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion } from '../../src/info/read-question.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { assertRefused, stateOf } from './states.ts';

const USER = '0xabcdef0000000000000000000000000000000002';
const TIERS = [{ lowerBound: '0.0', maxLeverage: 10 }];
const MARKET = { type: 'market', szDecimals: 2, marginTiers: TIERS, onlyIsolated: false };

const STATE = stateOf([
  { type: 'perpDex', dex: 'abc', fullName: 'Alphabet', deployer: USER },
  { ...MARKET, dex: '', coin: 'ETH', markPx: '3500.25' },
  { ...MARKET, dex: 'abc', coin: 'abc:OIL', markPx: '71.0' },
  { type: 'transfer', user: USER, dex: '', amount: '1000.0' },
  { type: 'fill', user: USER, coin: 'ETH', side: 'B', sz: '0.1', px: '3500.0', fee: '0.0' },
  { type: 'transfer', user: USER, dex: 'abc', amount: '5.0' },
]);

function ask(state: StateView, type: string, fields: object = {}): string {
  return answerQuestion(state, { type, ...fields });
}

test('it has the account and the markets of the first dex, and is empty where the ledger is', () => {
  for (const state of [STATE, createState()]) {
    const [meta, contexts] = JSON.parse(ask(state, 'metaAndAssetCtxs'));
    const user = `0x${USER.slice(2).toUpperCase()}`;
    assert.equal(
      ask(state, 'webData2', { user }),
      `{"clearinghouseState":${ask(state, 'clearinghouseState', { user })}` +
        ',"leadingVaults":[],"totalVaultEquity":"0.0","openOrders":[],"agentAddress":null' +
        `,"agentValidUntil":null,"cumLedger":"0.0","meta":${JSON.stringify(meta)}` +
        `,"assetCtxs":${JSON.stringify(contexts)},"serverTime":${state.time},"isVault":false` +
        `,"user":"${USER}","twapStates":[],"spotState":{"balances":[]},"spotAssetCtxs":[]}`,
    );
  }
});

test('without a user it is refused', () => {
  assertRefused(() => ask(STATE, 'webData2'), {
    code: 'missing_field',
    field: 'user',
    message: 'user: got nothing, expected an address: 0x and 40 hexadecimal digits, either case',
  });
});
