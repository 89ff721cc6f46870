/** Recorded answers of the real exchange: what is recorded, what is passed on, and why. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDocument } from '../../docs/documents.ts';
import { followCorpus } from './corpus.ts';
import { formatCorpusPage, totalsOf } from './corpus-page.ts';

const ACCOUNTS = await followCorpus();

for (const { answer, followed } of ACCOUNTS) {
  test(`the account recorded as ${answer.name} is judged as expected: ${answer.verdict}`, () => {
    assert.equal(followed.verdict, answer.verdict);
  });

  test(`what is answered for ${answer.name} from the ledger equals the recording`, () => {
    if (followed.verdict !== 'recorded') return;
    assert.ok(followed.figures.length > 0);
    assert.deepEqual(
      followed.figures.filter(({ isSame }) => !isSame),
      [],
    );
  });
}

test('an account that is passed on names what we do not know, and all figures of the others are equal', () => {
  for (const { answer, followed } of ACCOUNTS) {
    const isRecorded = followed.verdict === 'recorded';
    assert.equal(answer.unknownRule === undefined, isRecorded, answer.name);
  }
});

test('no recording has the address of a person: every address in it is made up', () => {
  const addresses = ACCOUNTS.flatMap(
    ({ answer }) => JSON.stringify(answer).match(/0x[0-9a-fA-F]{40}/g) ?? [],
  );
  const real = addresses.filter((address) => new Set(address.slice(2)).size > 2);
  assert.deepEqual(real, []);
});

const FORMS = [
  'empty',
  'cash only',
  'cross',
  'isolated',
  'further dex',
  'sub-account',
  'unifiedAccount',
  'portfolioMargin',
  'vault',
  'many dexes',
];
const CLASSES = ['small', 'above 10,000', 'above a million', 'above 10 million'];

test('the corpus has every form of account', (context) => {
  const forms = new Set(ACCOUNTS.flatMap((account) => account.forms));
  const classes = new Set(ACCOUNTS.map(({ valueClass }) => valueClass));
  assert.deepEqual(
    FORMS.filter((form) => !forms.has(form)),
    [],
  );
  assert.deepEqual(
    CLASSES.filter((name) => !classes.has(name)),
    [],
  );
  context.diagnostic(JSON.stringify(totalsOf(ACCOUNTS)));
});

test('positions of one account on several dexes were recorded, each dex by itself', () => {
  const dexes = ACCOUNTS.filter(
    ({ answer, forms }) =>
      forms.includes('many dexes') && answer.clearinghouseState.assetPositions.length > 0,
  ).map(({ answer }) => answer.dex);
  assert.deepEqual(dexes, ['', 'xyz']);
});

test('docs/reference/recorded-accounts.md is what the corpus gives: npm run docs:accounts', () => {
  assert.equal(readDocument('docs/reference/recorded-accounts.md'), formatCorpusPage(ACCOUNTS));
});

test("the README's figures on exactness are those of the corpus", () => {
  const { accounts, recorded, reproduced } = totalsOf(ACCOUNTS);
  const count = reproduced.toLocaleString('en-US');
  const claim = `all ${count} figures of ${recorded} accounts, out of ${accounts} [recorded accounts]`;
  assert.ok(readDocument('README.md').replace(/\s+/g, ' ').includes(claim), claim);
});
