/** Each case of each file: what is asked or appended has the whole result that the file expects. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUEST_ERRORS } from '../../src/info/request-error.ts';
import { CaseFile, listCaseFiles } from './case-file.ts';
import { layOut } from './json-layout.ts';
import { foldLedger, runItem } from './run-item.ts';

const FILES = listCaseFiles().map((name) => new CaseFile(name));

for (const file of FILES) {
  for (const { title, ledger, items } of file.cases) {
    test(`${file.name}: ${title}`, () => {
      const state = foldLedger(file, ledger);
      const results = items.map((item) => [item.text, ...runItem(file, state, ledger, item)]);
      const expected = items.map((item) => [item.text, ...item.expected]);
      assert.deepEqual(results, expected, `${file.name}.txt:${items[0].line}`);
    });
  }
}

test('the cases show every code that says that a question is wrong', () => {
  const lines = FILES.flatMap(({ cases }) => cases)
    .flatMap(({ items }) => items)
    .flatMap(({ expected }) => expected);
  const shown = new Set(lines.map((line) => /^! 422 (\w+)/.exec(line)?.[1]));
  const codes = Object.entries(REQUEST_ERRORS).filter(([, { status }]) => status === 422);
  assert.deepEqual([...shown].filter(Boolean).sort(), codes.map(([code]) => code).sort());
});

/** A file with one block and one question. */
function fileOf(event: string, question = 'ask {"type":"allMids"}'): CaseFile {
  return new CaseFile('own', `ledger\nblock\n  ${event}\n\ncase own\n${question}\n`);
}

test('a block that does not apply is an error that names the block', () => {
  const file = fileOf('{"type":"deployAuctionEnd","endGas":"1.0"}');
  const [{ ledger }] = file.cases;
  assert.throws(() => foldLedger(file, ledger), {
    message: /^own\.txt: a block of the ledger does not apply: block 1, event 0 .*: endGas: got/,
  });
});

test('a line that no case can have is an error with its place', () => {
  for (const [question, message] of [
    ['aks {"type":"allMids"}', 'own.txt:6: no keyword: "aks"'],
    ['ask {"type":"allMids","dex":"$NAME"}', 'own.txt: $NAME has no value'],
    ['', 'own.txt: the case "own" asks nothing'],
  ] as const) {
    const run = () => {
      const file = fileOf('{"type":"partial"}', question);
      const [{ ledger, items }] = file.cases;
      runItem(file, foldLedger(file, ledger), ledger, items[0]);
    };
    assert.throws(run, { message });
  }
});

test('a rewritten file has other results, and is the same apart from them', () => {
  const written = fileOf('{"type":"partial"}').format(() => ['["wrong",', '"result"]']);
  assert.match(written, /^ask .*\n {2}\["wrong",\n {2}"result"\]\n$/m);
  const again = new CaseFile('own', written).format(() => ['{}']);
  assert.equal(
    again,
    fileOf('{"type":"partial"}').format(() => ['{}']),
  );
});

test('a long answer is laid out in lines, with several short members in a line', () => {
  const name = 'x'.repeat(60);
  assert.deepEqual(layOut(`{"a":["${name}","${name}"],"b":1,"c":{}}`), [
    '{',
    '  "a":[',
    `    "${name}",`,
    `    "${name}"`,
    '  ],',
    '  "b":1,"c":{}',
    '}',
  ]);
});
