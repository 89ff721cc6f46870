/**
 * Answers of the state with every member that a schema declares, and answers of the exchange as well. The
 * end of a run checks that every part of a schema has occurred (test/schema-parts.ts).
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { amount, choiceOf, listOf, object, orNull } from '../../src/info/schema.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { checkAnswer, checkFrame } from '../../tools/harness/answer-checks.ts';
import { VECTORS } from '../../tools/harness/paths.ts';
import { SchemaCoverage } from '../../tools/harness/schema-coverage.ts';
import { FORWARDED_EXAMPLES } from '../../tools/stub-exchange/forwarded-answers.ts';
import { stateOf } from './states.ts';

const SIMULATED_BLOCKS = 600;
const ANSWER_EVERY_BLOCKS = 50;
const USERS_ASKED = 8;
const STRANGER = `0x${'f'.repeat(40)}`;
const LISTED_MARKET = { name: 'BTC', szDecimals: 5, maxLeverage: 40, marginTableId: 50 };

/** A ledger that follows another server, whose lists have members that ours do not have. */
function followedState(): StateView {
  const markets = [
    { ...LISTED_MARKET, isDelisted: true },
    { ...LISTED_MARKET, name: 'ETH' },
  ];
  const table = { description: 'tiered', marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }] };
  return stateOf([
    { type: 'dexes', list: [null, { name: 'xyz', fullName: 'More', deployer: null }] },
    { type: 'perpDex', dex: 'xyz', fullName: 'More', deployer: `0x${'b'.repeat(40)}` },
    {
      ...{ type: 'universe', dex: '' },
      meta: { universe: markets, marginTables: [[51, { ...table, extra: 1 }]], collateralToken: 0 },
    },
  ]);
}

function* listStates(): Generator<StateView> {
  for (const file of readdirSync(VECTORS)) {
    const { block } = JSON.parse(readFileSync(path.join(VECTORS, file), 'utf8'));
    const state = createState();
    applyBlock(state, parseBlock(JSON.stringify(block)));
    yield state;
  }
  const simulator = createSimulator({ seed: 'coverage', accounts: 50 });
  for (let block = 1; block <= SIMULATED_BLOCKS; block++) {
    simulator.next();
    if (block % ANSWER_EVERY_BLOCKS === 0) yield simulator.state;
  }
  yield followedState();
}

/** Questions of a type, with the users, dexes and margin tables of the state. */
function* listBodies(state: StateView, fields: readonly string[]): Generator<object> {
  const rows = Math.min(USERS_ASKED, state.addresses.table.rowCount - 1);
  const users = Array.from({ length: rows }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  const dexes = [...state.markets.dexes.map(({ name }) => name), 'ALL_DEXES'];
  const tables = [3, 50, 51, 1001];
  // An account that the state does not have is answered too.
  users.push(STRANGER);
  for (const dex of fields.includes('dex') ? dexes : ['']) {
    for (const user of fields.includes('user') ? users : ['']) {
      for (const id of fields.includes('id') ? tables : [0]) {
        const values: Record<string, unknown> = { user, dex, id, users: [...users, 'nobody'] };
        yield Object.fromEntries(fields.map((name) => [name, values[name]]));
      }
    }
  }
}

/** Undefined if the question is refused. */
function answerOf(state: StateView, body: object): string | undefined {
  try {
    return answerQuestion(state, body);
  } catch (error) {
    if (error instanceof RequestError) return undefined;
    throw error;
  }
}

test('every answer of the state fits its schema: vectors, a simulated and a followed exchange', () => {
  for (const state of listStates()) {
    for (const { type, fields } of STATE_TYPES) {
      for (const body of listBodies(state, Object.keys(fields))) {
        const answer = answerOf(state, { type, ...body });
        if (answer !== undefined) checkAnswer(type, answer);
      }
    }
  }
});

test('the answers of the exchange that the stub has fit their schemas', () => {
  for (const { type, answers } of FORWARDED_EXAMPLES) {
    for (const answer of answers) checkAnswer(type, JSON.stringify(answer));
  }
});

test('an answer that does not fit its schema is found, and so is a part that did not occur', () => {
  const body = JSON.stringify({ time: 'soon', specialStatuses: null });
  assert.throws(() => checkAnswer('exchangeStatus', body), /exchangeStatus does not fit.*integer/);
  const level = object({ side: choiceOf('A', 'B') }, { size: orNull(amount) });
  const coverage = new SchemaCoverage(listOf(level));
  coverage.note([{ side: 'A' }, { side: 'A', size: null }]);
  assert.deepEqual(coverage.missing, ['[].side=B', '[].size|0']);
});

test('a pushed state that does not fit is found, next to its height and time', () => {
  const data = { height: 5, time: 6, isSnapshot: true };
  const mids = { channel: 'allMids', data: { ...data, mids: { BTC: '1.0' } } };
  checkFrame(mids);
  for (const wrong of [{ BTC: 1 }, undefined, []]) {
    const frame = { ...mids, data: { ...data, mids: wrong } };
    assert.throws(() => checkFrame(frame), /allMids does not fit/);
  }
  checkFrame({ channel: 'subscriptionResponse', data });
  assert.throws(() => checkFrame({ channel: 'webData2', data }), /webData2 does not fit/);
});
