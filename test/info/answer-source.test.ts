/** Where answers come from: one rule, whichever way a question is asked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Question } from '../../src/info/question.ts';
import type { QuestionType } from '../../src/info/question-type.ts';
import { OWN_TYPES, PUSHED_TYPES, QUESTION_TYPES } from '../../src/info/question-types.ts';
import { parseSubscription, readQuery, readQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';

const USER = '0x00000000000000000000000000000000000000aa';

/** A value of each field, as text and as JSON. */
const VALUES: Readonly<Record<string, unknown>> = {
  ...{ user: USER, builder: USER, source: USER, vaultAddress: USER, dex: 'xyz', coin: 'BTC' },
  ...{ id: 50, from: 1, to: 2, step: 1, startTime: 1, endTime: 2, oid: 5, token: 1 },
  ...{ tokenId: `0x${'0'.repeat(32)}`, nSigFigs: 5, mantissa: 2 },
  ...{ aggregateByTime: true, reversed: false },
};

/** A query cannot have the candles' object; `users` may be several parameters. */
const POST_ONLY = ['candleSnapshot', 'batchClearinghouseStates'];

function sourceOf(question: Question | RequestError): string {
  return question instanceof RequestError ? question.code : question.source;
}

function fieldsOf({ type, fields }: QuestionType): Record<string, unknown> {
  const values = Object.keys(fields).map((name) => [name, VALUES[name]]);
  return { type, ...Object.fromEntries(values) };
}

/** The sources of the answers to a POST and to a GET. */
function sourcesOf(body: Record<string, unknown>, forwards: boolean): [string, string] {
  const texts = Object.entries(body).map(([name, value]) => [name, String(value)]);
  const query = new URLSearchParams(texts);
  return [
    sourceOf(readQuestion(body, 'body', { forwards })),
    sourceOf(readQuery(query, { forwards })),
  ];
}

for (const forwards of [true, false]) {
  for (const moment of [{}, { atHeight: 5 }]) {
    const about = `${'atHeight' in moment ? 'the past' : 'the present'}, ${forwards ? 'with' : 'without'} --forward`;
    test(`a POST and a GET are answered from the same source: about ${about}`, () => {
      const asked = QUESTION_TYPES.filter(({ type }) => !POST_ONLY.includes(type));
      for (const questionType of asked) {
        const [post, get] = sourcesOf({ ...fieldsOf(questionType), ...moment }, forwards);
        assert.equal(get, post, questionType.type);
      }
    });
  }
}

/** The types that are answered from each source, about the present. */
function typesFrom(source: Question['source'], forwards: boolean): string[] {
  return QUESTION_TYPES.filter((questionType) => {
    const [post] = sourcesOf(fieldsOf(questionType), forwards);
    return post === source;
  }).map(({ type }) => type);
}

/** The groups whose types the ledger answers, also with --forward. */
const LEDGER_GROUPS = ['accounts', 'staking', 'auction', 'markets', 'history'];
/** Types of these groups that the exchange answers with --forward, because the ledger knows too little. */
const EXCEPTIONS = ['userAbstraction', 'portfolio'];

test('accounts, staking, the auction and histories come from the ledger, also with --forward', () => {
  const own = OWN_TYPES.filter(({ type }) => !POST_ONLY.includes(type));
  const fromLedger = own.filter(
    ({ type, group }) => LEDGER_GROUPS.includes(group) && !EXCEPTIONS.includes(type),
  );
  const typesOf = (source: string) =>
    fromLedger.filter((each) => each.source === source).map(({ type }) => type);
  assert.deepEqual(typesFrom('state', true), typesOf('state'));
  assert.deepEqual(typesFrom('archive', true), typesOf('archive'));
  assert.ok(typesOf('state').length >= 10 && typesOf('archive').length >= 3);
});

test('market data comes from the exchange with --forward, and from the ledger without it', () => {
  for (const type of ['allMids', 'metaAndAssetCtxs']) {
    assert.deepEqual(sourcesOf({ type }, true), ['upstream', 'upstream']);
    assert.deepEqual(sourcesOf({ type }, false), ['state', 'state']);
    // The exchange answers about the present only; the archive has the marks of the past.
    assert.deepEqual(sourcesOf({ type, atHeight: 5 }, true), ['archive', 'archive']);
  }
});

test('what only the exchange answers is refused without --forward', () => {
  for (const questionType of QUESTION_TYPES.filter(({ source }) => source === 'upstream')) {
    const body = fieldsOf(questionType);
    assert.equal(sourceOf(readQuestion(body)), 'unknown_type', questionType.type);
  }
});

test('a subscription is answered from the ledger, with and without --forward', () => {
  for (const { type } of PUSHED_TYPES) {
    const question = parseSubscription({ type, user: USER });
    assert.equal(question.source, 'state', type);
  }
});
