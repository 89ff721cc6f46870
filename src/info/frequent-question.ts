/**
 * Recognizes a question that names a user only, such as
 * `{"type":"clearinghouseState","user":"0x..."}`, without parsing JSON. It knows the spellings of
 * common JSON libraries: with and without spaces, and with and without the other fields at their
 * defaults. The parser reads all other spellings. Query strings are recognized in the same way.
 *
 * The address is read from bytes, not text, for speed (`parseAddressDigits` in address.ts).
 */

import { ADDRESS_DIGITS, type Address, parseAddressDigits } from '../exact/address.ts';
import type { StateQuestion } from './question.ts';
import type { StateQuestionType } from './question-type.ts';
import { STATE_TYPES } from './question-types.ts';
import { askState } from './state-question.ts';

interface Spelling {
  readonly before: Buffer;
  readonly after: Buffer;
  readonly length: number;
  ask(user: Address): StateQuestion;
}

/** The types whose questions are recognized, each with a function that makes the question. */
const FREQUENT_TYPES = STATE_TYPES.flatMap((questionType) => {
  const ofUser = questionType.rows?.ofUser;
  if (ofUser === undefined) return [];
  return { questionType, ask: (user: Address) => askState(questionType, ofUser(user)) };
});

/** The names of the fields, without `user`, whose default is the empty text. */
function otherFields({ fields }: StateQuestionType): string[] {
  return Object.keys(fields).filter((name) => name !== 'user' && fields[name].fallback === '');
}

const BODY_SPELLINGS: readonly Spelling[] = FREQUENT_TYPES.flatMap(({ questionType, ask }) => {
  const { type } = questionType;
  const others = otherFields(questionType);
  const compact = others.map((name) => `,"${name}":""`).join('');
  const spaced = others.map((name) => `, "${name}": ""`).join('');
  return [
    spell(ask, `{"type":"${type}","user":"0x`, '"}'),
    spell(ask, `{"type":"${type}","user":"0x`, `"${compact}}`),
    spell(ask, `{"type": "${type}", "user": "0x`, '"}'),
    spell(ask, `{"type": "${type}", "user": "0x`, `"${spaced}}`),
  ];
});

/** Query strings have the fields in the documented order. */
const QUERY_SPELLINGS: readonly Spelling[] = FREQUENT_TYPES.flatMap(({ questionType, ask }) => {
  const others = otherFields(questionType).map((name) => `&${name}=`);
  const before = `type=${questionType.type}&user=0x`;
  return [spell(ask, before, ''), spell(ask, before, others.join(''))];
});

function spell(ask: Spelling['ask'], before: string, after: string): Spelling {
  const length = before.length + ADDRESS_DIGITS + after.length;
  return { before: Buffer.from(before), after: Buffer.from(after), length, ask };
}

/** Returns the question in a body; returns undefined if the spelling is not known. */
export function readFrequentBody(
  bytes: Buffer,
  start: number,
  end: number,
): StateQuestion | undefined {
  return readSpelled(BODY_SPELLINGS, bytes, start, end);
}

/** Returns the question in a query string; returns undefined if the spelling is not known. */
export function readFrequentQuery(
  bytes: Buffer,
  start: number,
  end: number,
): StateQuestion | undefined {
  return readSpelled(QUERY_SPELLINGS, bytes, start, end);
}

function readSpelled(
  spellings: readonly Spelling[],
  bytes: Buffer,
  start: number,
  end: number,
): StateQuestion | undefined {
  for (const { before, after, length, ask } of spellings) {
    if (length !== end - start) continue;
    const digits = start + before.length;
    if (!hasAt(bytes, start, before) || !hasAt(bytes, digits + ADDRESS_DIGITS, after)) continue;
    const user = parseAddressDigits(bytes, digits);
    return user === undefined ? undefined : ask(user);
  }
  return undefined;
}

function hasAt(bytes: Buffer, start: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}
