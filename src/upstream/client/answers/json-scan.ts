/**
 * Checks that bytes are JSON, and counts the rows of a list, without building a value. The scan
 * follows a state table byte by byte, so the work can be interrupted after any byte.
 */

import { JSON_DEPTH_MAX, NestingError } from './upstream-json.ts';

const BYTES = 256;

/** The states. A state determines which bytes may come next; any other byte leads to FAULT. */
const FAULT = 0;
const VALUE = 1;
/** After "[": a value or "]". */
const FIRST_ITEM = 2;
/** After "{": a name or "}". */
const FIRST_NAME = 3;
const NAME = 4;
const COLON = 5;
/**
 * After the last byte of a text, a list, an object or a word. A number has no last byte of this
 * kind.
 */
const END = 6;
const MINUS = 7;
/** The states in a number after which the number may end. */
const ZERO = 8;
const WHOLE = 9;
const FRACTION = 10;
const EXPONENT = 11;
const POINT = 12;
const EXPONENT_MARK = 13;
const EXPONENT_SIGN = 14;
/**
 * The first of six states of a value's text, and of six states of a name's text: in the text, after
 * a backslash, and for each of the four digits of \u.
 */
const TEXT = 15;
const NAME_TEXT = 21;
/** The first of the states for the letters of true, false and null. */
const WORDS = 27;
const STATES = 37;

/**
 * The actions. In the table, an action can be in the place of a state. The action then decides the
 * next state.
 */
const OPEN_LIST = 40;
const OPEN_OBJECT = 41;
const CLOSE_LIST = 42;
const CLOSE_OBJECT = 43;
const COMMA = 44;

const SPACES = ' \t\r\n';
const DIGITS = '0123456789';
const HEXADECIMAL = `${DIGITS}abcdefABCDEF`;

/** The next state, or an action, for each state and byte. */
const NEXT = createTable();

function createTable(): Uint8Array {
  const next = new Uint8Array(STATES * BYTES);
  const on = (state: number, characters: string, then: number) => {
    for (const character of characters) next[state * BYTES + character.charCodeAt(0)] = then;
  };
  for (const state of [VALUE, FIRST_ITEM]) addValueStarts(state, on);
  for (const state of [FIRST_NAME, NAME]) on(state, '"', NAME_TEXT);
  on(FIRST_ITEM, ']', CLOSE_LIST);
  on(FIRST_NAME, '}', CLOSE_OBJECT);
  on(COLON, ':', VALUE);
  for (const state of [VALUE, FIRST_ITEM, FIRST_NAME, NAME, COLON]) on(state, SPACES, state);
  for (const state of [END, ZERO, WHOLE, FRACTION, EXPONENT]) {
    on(state, SPACES, END);
    on(state, ',', COMMA);
    on(state, ']', CLOSE_LIST);
    on(state, '}', CLOSE_OBJECT);
  }
  addNumbers(on);
  addText(next, on, TEXT, END);
  addText(next, on, NAME_TEXT, COLON);
  return next;
}

type On = (state: number, characters: string, then: number) => void;

function addValueStarts(state: number, on: On): void {
  on(state, '[', OPEN_LIST);
  on(state, '{', OPEN_OBJECT);
  on(state, '"', TEXT);
  on(state, '-', MINUS);
  on(state, DIGITS, WHOLE);
  on(state, '0', ZERO);
  let letter = WORDS;
  for (const [first, ...rest] of ['true', 'false', 'null']) {
    on(state, first, letter);
    for (const [index, character] of rest.entries()) {
      on(letter, character, index === rest.length - 1 ? END : letter + 1);
      letter++;
    }
  }
}

function addNumbers(on: On): void {
  on(MINUS, DIGITS, WHOLE);
  on(MINUS, '0', ZERO);
  on(WHOLE, DIGITS, WHOLE);
  for (const state of [ZERO, WHOLE]) on(state, '.', POINT);
  for (const state of [POINT, FRACTION]) on(state, DIGITS, FRACTION);
  for (const state of [ZERO, WHOLE, FRACTION]) on(state, 'eE', EXPONENT_MARK);
  on(EXPONENT_MARK, '+-', EXPONENT_SIGN);
  for (const state of [EXPONENT_MARK, EXPONENT_SIGN, EXPONENT]) on(state, DIGITS, EXPONENT);
}

function addText(next: Uint8Array, on: On, inside: number, after: number): void {
  const escaped = inside + 1;
  // JSON does not allow control characters without an escape.
  next.fill(inside, inside * BYTES + 0x20, (inside + 1) * BYTES);
  on(inside, '"', after);
  on(inside, '\\', escaped);
  on(escaped, '"\\/bfnrt', inside);
  on(escaped, 'u', escaped + 1);
  for (let digit = 1; digit <= 4; digit++) {
    on(escaped + digit, HEXADECIMAL, digit === 4 ? inside : escaped + digit + 1);
  }
}

const ENDS: readonly number[] = [END, ZERO, WHOLE, FRACTION, EXPONENT];

export class JsonScan {
  readonly #bytes: Buffer;
  readonly #isList: boolean[] = [];
  #state = VALUE;
  #at = 0;
  /** The number of commas in the outermost list. */
  #commas = 0;
  #rows: number | undefined;

  /** The bytes must be UTF-8; the caller must check this. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * The number of rows if the bytes are a list; undefined if they are not a list, and before the
   * end of the scan.
   */
  get rows(): number | undefined {
    return this.#rows;
  }

  /**
   * Reads the next `count` bytes; returns true at the end of the bytes. Throws a SyntaxError or a
   * NestingError.
   */
  advance(count: number): boolean {
    const bytes = this.#bytes;
    const end = Math.min(bytes.length, this.#at + count);
    let state = this.#state;
    for (let at = this.#at; at < end; at++) {
      const next = NEXT[state * BYTES + bytes[at]];
      if (next === FAULT) throw new SyntaxError(`byte ${at} is not JSON`);
      state = next < STATES ? next : this.#change(next, state);
    }
    this.#state = state;
    this.#at = end;
    if (end < bytes.length) return false;
    if (this.#isList.length > 0 || !ENDS.includes(state)) throw new SyntaxError('it is cut off');
    return true;
  }

  #change(what: number, state: number): number {
    if (what === OPEN_LIST || what === OPEN_OBJECT) return this.#open(what === OPEN_LIST);
    const isList = this.#isList.at(-1);
    if (what === COMMA && isList !== undefined) {
      if (isList && this.#isList.length === 1) this.#commas++;
      return isList ? VALUE : NAME;
    }
    if (isList !== (what === CLOSE_LIST) || what === COMMA) {
      throw new SyntaxError('a bracket or comma is out of place');
    }
    this.#isList.pop();
    const isWhole = isList && this.#isList.length === 0;
    if (isWhole) this.#rows = state === FIRST_ITEM ? 0 : this.#commas + 1;
    return END;
  }

  #open(isList: boolean): number {
    if (this.#isList.length === JSON_DEPTH_MAX) throw new NestingError();
    this.#isList.push(isList);
    return isList ? FIRST_ITEM : FIRST_NAME;
  }
}
