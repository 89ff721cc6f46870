/** The question parsed from its bytes, compared with the registry on the same bytes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFrequentBody, readFrequentQuery } from '../../src/info/frequent-question.ts';
import type { StateQuestion } from '../../src/info/question.ts';
import { parseQuestion } from '../../src/info/read-question.ts';

const USER = '0x31ca8395cf837de08b24da3f660e77761dfb974b';

/** The user whose account on the first dex is asked for. */
function userOf(question: StateQuestion | undefined): string | undefined {
  if (question === undefined) return undefined;
  assert.equal(question.type, 'clearinghouseState');
  return /^"user":"(\w+)","dex":""$/.exec(question.formatFields())?.[1];
}

function read(body: string): string | undefined {
  // Not at the start of the buffer, and not up to its end.
  const bytes = Buffer.from(`xx${body}xx`);
  return userOf(readFrequentBody(bytes, 2, bytes.length - 2));
}

function readQuery(query: string): string | undefined {
  const bytes = Buffer.from(`xx${query}xx`);
  return userOf(readFrequentQuery(bytes, 2, bytes.length - 2));
}

const ORDINARY = [
  { type: 'clearinghouseState', user: USER },
  { type: 'clearinghouseState', user: USER, dex: '' },
];

function withSpaces(question: object): string {
  return JSON.stringify(question).replaceAll(':"', ': "').replaceAll(',"', ', "');
}

test('the ordinary spellings are read, in either case of the digits', () => {
  for (const question of ORDINARY) {
    for (const body of [JSON.stringify(question), withSpaces(question)]) {
      assert.equal(read(body), USER);
      const shouted = body.replace(USER.slice(2), USER.slice(2).toUpperCase());
      assert.equal(read(shouted), USER);
      const asked = parseQuestion(JSON.parse(shouted));
      assert.equal(asked.formatFields(), `"user":"${USER}","dex":""`);
    }
  }
});

test('with any byte changed it is another question, or none', () => {
  for (const body of ORDINARY.flatMap((question) => [
    JSON.stringify(question),
    withSpaces(question),
  ])) {
    const digits = body.indexOf(USER) + 2;
    for (let place = 0; place < body.length; place++) {
      if (place >= digits && place < digits + 40) continue;
      assert.equal(
        read(`${body.slice(0, place)}~${body.slice(place + 1)}`),
        undefined,
        String(place),
      );
    }
  }
});

test('what is no digit makes it none, also beyond ASCII', () => {
  const body = JSON.stringify(ORDINARY[0]);
  const digits = body.indexOf(USER) + 2;
  for (const bad of ['g', '/', ':', '@', '`', ' ', '"', '\u0000', '\u007f']) {
    for (const place of [digits, digits + 9, digits + 20, digits + 39]) {
      assert.equal(read(body.slice(0, place) + bad + body.slice(place + 1)), undefined);
    }
  }
  // Of as many bytes as the digits: an accented letter has two.
  assert.equal(read(`${body.slice(0, digits)}\u00e1${body.slice(digits + 2)}`), undefined);
});

test('longer and shorter bodies are left to the registry', () => {
  const body = JSON.stringify(ORDINARY[0]);
  assert.equal(read(body.slice(0, -1)), undefined);
  assert.equal(read(`${body} `), undefined);
  assert.equal(read(''), undefined);
});

test('a query string in the documented order is read, any other is left to the registry', () => {
  const query = `type=clearinghouseState&user=${USER}`;
  for (const text of [query, `${query}&dex=`, query.replace('31ca', '31CA')]) {
    assert.equal(readQuery(text), USER);
  }
  const others = ['', `${query}0`, `${query}&dex=xyz`, `x${query}`, query.slice(0, -1)];
  for (const text of [...others, `user=${USER}&type=clearinghouseState`, `${query}&dex=&dex=`]) {
    assert.equal(readQuery(text), undefined, text);
  }
});
