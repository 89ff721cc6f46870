/**
 * Finds and hides the secrets of an upstream's address in texts. A secret in a text may have other
 * capital letters, may be escaped for a URL, for JSON or for HTML, or may be cut. So every piece of
 * a secret is hidden.
 */

import { isInNeverHiddenWord } from './never-hidden-words.ts';

/**
 * The length of a piece of a secret. Shorter parts of a path, such as "info" and "v1", are not
 * secret, and can be in any text.
 */
const PIECE_LENGTH = 6;
/** The minimum length of a key. A shorter text, such as a word, may be in an answer by chance. */
const KEY_LENGTH_MIN = 16;
const KEY_CHARACTERS_MIN = 8;
const ADDRESS = /^0x[\da-f]{40}$/i;
/**
 * The maximum number of times that a text is unescaped: a proxy, for example, may escape an escape
 * again.
 */
const ESCAPES_MAX = 3;
const MASK = '***';

const ESCAPE =
  /%([\da-f]{2})|\\u([\da-f]{4})|\\x([\da-f]{2})|&#x([\da-f]{1,5});|&#(\d{1,6});|\\(["\\/])|&(amp|quot|lt|gt|apos);/giy;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  lt: '<',
  gt: '>',
  apos: "'",
};

/**
 * A text, and for each of its characters the start and the end of the character in the original
 * text.
 */
interface Located {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

export class UpstreamSecrets {
  /** Every piece of each secret, in lower case. */
  readonly #pieces = new Set<string>();
  /** The forms that a key may have in an answer. */
  readonly #forms: readonly string[];
  /** The maximum number of bytes of a form. Each character may be escaped as \u and four digits. */
  readonly #formBytesMax: number;

  constructor(secrets: readonly string[]) {
    const plain = [...new Set(secrets)].map((secret) => unescapeWhole(secret));
    for (const { text } of plain) {
      for (let at = 0; at + PIECE_LENGTH <= text.length; at++) {
        this.#pieces.add(text.slice(at, at + PIECE_LENGTH));
      }
    }
    this.#forms = [...new Set(secrets.filter(isKey).flatMap(listForms))];
    this.#formBytesMax = 6 * Math.max(0, ...this.#forms.map(({ length }) => length));
  }

  /** Returns a text of the upstream with "***" in the place of each piece of a secret. */
  hide(text: string): string {
    return this.#hide(text, () => false);
  }

  /**
   * Does the same for a text of ours that may quote the upstream, but shows the fixed words of our
   * messages.
   */
  hideInOwn(text: string): string {
    return this.#hide(text, isInNeverHiddenWord);
  }

  #hide(text: string, isShown: typeof isInNeverHiddenWord): string {
    if (this.#pieces.size === 0 || text.length < PIECE_LENGTH) return text;
    const { text: plain, starts, ends } = unescapeWhole(text);
    let shown = '';
    let from = 0;
    for (let at = 0; at + PIECE_LENGTH <= plain.length; ) {
      const length = this.#lengthAt(plain, at);
      if (length > 0 && !isShown(plain, at, at + length)) {
        shown += text.slice(from, starts[at]) + MASK;
        from = ends[at + length - 1];
      }
      at += Math.max(1, length);
    }
    return shown + text.slice(from);
  }

  /**
   * Returns the length of the secret text that starts at `start`; returns 0 if no piece of a secret
   * starts there.
   */
  #lengthAt(plain: string, start: number): number {
    let end = start;
    for (let at = start; at <= Math.max(start, end); at++) {
      if (this.#pieces.has(plain.slice(at, at + PIECE_LENGTH))) end = at + PIECE_LENGTH;
    }
    return end - start;
  }

  /**
   * Returns true if a key starts in this part of an answer. Only secrets that are long enough to be
   * a key are searched for.
   */
  isIn(whole: Buffer, from = 0, to = whole.length): boolean {
    const answer = whole.subarray(from, to + this.#formBytesMax);
    if (this.#forms.some((form) => answer.includes(form))) return true;
    if (this.#forms.length === 0 || !answer.includes('\\u')) return false;
    const text = answer.toString().replaceAll(/\\u([\da-f]{4})/gi, (_, code) => unitOf(code));
    return this.#forms.some((form) => text.includes(form));
  }
}

function isKey(secret: string): boolean {
  if (secret.length < KEY_LENGTH_MIN || ADDRESS.test(secret)) return false;
  return new Set(secret).size >= KEY_CHARACTERS_MIN;
}

function listForms(key: string): string[] {
  const json = JSON.stringify(key).slice(1, -1);
  const forms = [key, json, json.replaceAll('/', '\\/'), encodeURIComponent(key)];
  return forms.flatMap((form) => [form, form.toLowerCase(), form.toUpperCase()]);
}

function unitOf(hexadecimal: string): string {
  return String.fromCharCode(Number.parseInt(hexadecimal, 16));
}

/**
 * Returns the text in lower case and without escapes. Each character is one byte of the text,
 * because an escape may stand for a single byte.
 */
function unescapeWhole(text: string): Located {
  let located = locate(text);
  for (let count = 0; count < ESCAPES_MAX && /[%\\&]/.test(located.text); count++) {
    located = unescapeOnce(located);
  }
  return { ...located, text: located.text.replaceAll(/[A-Z]/g, (found) => found.toLowerCase()) };
}

function locate(text: string): Located {
  const bytes: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let start = 0;
  for (const character of text) {
    const end = start + character.length;
    for (const byte of bytesOf(character.toLowerCase())) {
      bytes.push(byte);
      starts.push(start);
      ends.push(end);
    }
    start = end;
  }
  return { text: bytes.join(''), starts, ends };
}

function bytesOf(character: string): string {
  return character <= '\x7f' ? character : Buffer.from(character).toString('latin1');
}

function unescapeOnce({ text, starts, ends }: Located): Located {
  const bytes: string[] = [];
  const newStarts: number[] = [];
  const newEnds: number[] = [];
  for (let at = 0; at < text.length; ) {
    ESCAPE.lastIndex = at;
    const found = ESCAPE.exec(text);
    const length = found?.[0].length ?? 1;
    for (const byte of found === null ? text[at] : unescapeOne(found)) {
      bytes.push(byte);
      newStarts.push(starts[at]);
      newEnds.push(ends[at + length - 1]);
    }
    at += length;
  }
  return { text: bytes.join(''), starts: newStarts, ends: newEnds };
}

function unescapeOne([, percent, unit, byte, hexEntity, entity, character, name]: readonly (
  | string
  | undefined
)[]): string {
  const single = percent ?? byte;
  if (single !== undefined) return unitOf(single);
  if (unit !== undefined || hexEntity !== undefined)
    return bytesOf(unitOf(unit ?? hexEntity ?? ''));
  if (entity !== undefined) return bytesOf(String.fromCharCode(Number(entity)));
  return character ?? ENTITIES[name?.toLowerCase() ?? ''] ?? '';
}
