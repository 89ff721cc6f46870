/** What types of question declare beside their answers: examples, schemas, and what an answer depends on. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseAddress } from '../../src/exact/address.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { stateOf } from './states.ts';

const ALICE = `0x${'a'.repeat(40)}`;
/** Named as a validator only. */
const BOB = `0x${'b'.repeat(40)}`;
const NOBODY = `0x${'c'.repeat(40)}`;

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });

for (const questionType of STATE_TYPES) {
  const { type, example, answerSchema } = questionType;
  test(`the example of ${type} is a question of this type, and its answer fits its schema`, () => {
    const question = parseQuestion(example.question);
    assert.deepEqual([question.type, question.questionType], [type, questionType]);
    const validate = ajv.compile(answerSchema);
    assert.ok(validate(example.answer), ajv.errorsText(validate.errors));
  });
}

const state = stateOf(
  [{ type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: BOB }],
  [
    { type: 'transfer', user: ALICE, dex: '', amount: '5.0' },
    { type: 'transfer', user: ALICE, dex: 'xyz', amount: '7.0' },
    { type: 'delegate', user: ALICE, validator: BOB, amount: '1.0' },
  ],
);

function addressRow(user: string): number {
  return state.addresses.find(parseAddress(user) ?? assert.fail(user));
}

function dependenciesOf(question: object) {
  return parseQuestion(question).dependencies(state);
}

test('an answer about an account depends on its row, or on its address until there is one', () => {
  const [first, second] = [0, 1].map((dex) => findAccount(state, addressRow(ALICE), dex));
  assert.ok(first !== 0 && second !== 0);
  const account = { type: 'clearinghouseState', user: ALICE };
  assert.deepEqual(dependenciesOf(account), { accounts: [first], addresses: [] });
  assert.deepEqual(dependenciesOf({ ...account, dex: 'xyz' }), {
    accounts: [second],
    addresses: [],
  });
  const none = { accounts: [], addresses: [addressRow(BOB)] };
  assert.deepEqual(dependenciesOf({ ...account, user: BOB }), none);
  const all = { type: 'allDexsClearinghouseState', user: ALICE };
  const both = { accounts: [first, second], addresses: [addressRow(ALICE)] };
  assert.deepEqual(dependenciesOf(all), both);
  const delegations = { type: 'delegations', user: ALICE };
  assert.deepEqual(dependenciesOf(delegations), { accounts: [], addresses: [addressRow(ALICE)] });
});

test('an answer about an address that the ledger does not hold may depend on any block', () => {
  for (const type of ['clearinghouseState', 'allDexsClearinghouseState', 'delegations']) {
    assert.equal(dependenciesOf({ type, user: NOBODY }), undefined);
  }
});
