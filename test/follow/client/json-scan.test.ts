/** Answers that are only passed on: what the scan takes for JSON is what JSON.parse does. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonScan } from '../../../src/upstream/client/answers/json-scan.ts';
import {
  checkUpstreamAnswer,
  readUpstreamAnswer,
  UpstreamAnswer,
} from '../../../src/upstream/client/answers/upstream-answer.ts';
import { parseUpstreamJson } from '../../../src/upstream/client/answers/upstream-json.ts';
import { WorkQueue } from '../../../src/upstream/client/answers/work-queue.ts';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';

const KEY = 'k3y-0f-a-vend0r-that-is-l0ng';
const ADDRESS = readUpstreamAddress(new URL(`https://vendor.example/${KEY}`));

/** The number of rows, "none" if it is no list, or "refused". */
function scan(text: string, step = Number.POSITIVE_INFINITY): number | string {
  try {
    const scanned = new JsonScan(Buffer.from(text));
    while (!scanned.advance(step));
    return scanned.rows ?? 'none';
  } catch {
    return 'refused';
  }
}

function parse(text: string): number | string {
  try {
    const value = parseUpstreamJson(text);
    return Array.isArray(value) ? value.length : 'none';
  } catch {
    return 'refused';
  }
}

const CASES: readonly string[] = [
  ...[
    '',
    ' ',
    '[]',
    '[ ]',
    '{}',
    ' [ 1 , 2 ] ',
    '[[],[]]',
    '[{"a":[1,2]},{"b":{}}]',
    '[1,]',
    '[,1]',
  ],
  ...[
    '[1 2]',
    '{"a":1,}',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{1:2}',
    '{"a" : 1 }',
    '[1',
    '{"a":1',
    ']',
    '}',
  ],
  ...['[}', '{]', '[1}', '{"a":1]', '[]]', '[] []', '1,2', '"a":1', '[:]', '{"a":1:2}', '[1:2]'],
  ...[
    '0',
    '-0',
    '01',
    '-',
    '+1',
    '1.',
    '.1',
    '1.5',
    '1e5',
    '1E+5',
    '1e-5',
    '1e',
    '1e+',
    '0x1',
    '1.5.5',
  ],
  ...['true', 'false', 'null', 'tru', 'truee', 'True', 'nul', 'NaN', 'Infinity', 'undefined'],
  ...[
    '""',
    '"a',
    '"\\n"',
    '"\\x"',
    '"\\u12aF"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\',
    '"\t"',
    '"\u007f"',
    '"é😀"',
  ],
  ...[
    '"a\\"b"',
    '"a\\\\"',
    '\ufeff[]',
    '[]\u0000',
    '[\u00a01]',
    '[1]\r\n\t ',
    '{"\\u0041":1}',
    '{"a\n":1}',
  ],
  ...[`${'['.repeat(64)}${']'.repeat(64)}`, `${'['.repeat(65)}${']'.repeat(65)}`],
];

test('the scan takes what JSON.parse takes, cut anywhere, and counts the same rows', () => {
  for (const text of CASES) {
    for (const step of [1, 3, undefined]) assert.equal(scan(text, step), parse(text), text);
  }
});

test(`random texts, and JSON with a random change, are judged as JSON.parse does ${SEED_NOTE}`, () => {
  const noise = fc.string({ unit: fc.constantFrom(...'[]{}:,"\\tfn01.-eEu '), maxLength: 12 });
  fc.assert(
    fc.property(
      fc.json(),
      noise,
      fc.nat(),
      fc.nat(3),
      fc.integer({ min: 1, max: 9 }),
      (...given) => {
        const [text, added, position, dropped, step] = given;
        const at = position % (text.length + 1);
        const changed = text.slice(0, at) + added + text.slice(at + dropped);
        for (const one of [text, added, changed]) assert.equal(scan(one, step), parse(one), one);
      },
    ),
    runs(500),
  );
});

function response(body: Buffer) {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

/** Rows of so many bytes together, with a text in one of them. */
function rowsWith(text: string, at: number): Buffer {
  const filled = Buffer.alloc(1 << 20, ' ');
  filled.write('["');
  filled.write(text, at);
  filled.write('"]', filled.length - 2);
  return filled;
}

test('a long answer that is passed on is refused for what any other is refused for', async () => {
  const escaped = `\\u00${KEY.charCodeAt(0).toString(16)}${KEY.slice(1)}`;
  const step = 64 << 10;
  const bodies = [
    ...[0, 1, 15, 27, 40].flatMap((before) =>
      [KEY, escaped].map((text) => rowsWith(text, 3 * step - before)),
    ),
    rowsWith('\\x', 500_000),
    rowsWith('fine', 500_000),
    Buffer.concat([rowsWith('', 5), Buffer.from([0xff])]),
    Buffer.concat([Buffer.from('\ufeff'), rowsWith('', 5)]),
    Buffer.from('[1,2,3]'),
    Buffer.from('[1,2'),
    Buffer.from(`["${KEY}"]`),
    Buffer.alloc(0),
  ];
  const work = new WorkQueue();
  for (const [index, body] of bodies.entries()) {
    const read = readUpstreamAnswer(response(body), ADDRESS);
    const checked = await checkUpstreamAnswer(response(body), ADDRESS, work);
    assert.equal(checked instanceof UpstreamAnswer, read instanceof UpstreamAnswer, `${index}`);
    if (checked instanceof UpstreamAnswer && read instanceof UpstreamAnswer) {
      assert.ok(checked.bytes.equals(read.bytes));
      assert.deepEqual([checked.rows, checked.json], [read.rows, read.json]);
    } else assert.equal(String(checked), String(read), `${index}`);
  }
});

test('long checks go one after the other, and each leaves turns to others', async () => {
  const work = new WorkQueue();
  const steps: string[] = [];
  const doSteps = (name: string, count: number) => {
    let left = count;
    return work.run(() => {
      steps.push(name);
      return --left === 0;
    });
  };
  const failing = work.run(() => {
    throw new Error('bad');
  });
  await Promise.all([assert.rejects(failing, /bad/), doSteps('a', 3), doSteps('b', 2)]);
  assert.deepEqual(steps, ['a', 'a', 'a', 'b', 'b']);
});
