/**
 * Words of error messages that do not come from an upstream. They come from our messages, from Node
 * and from Node's HTTP client. If the secret part of an upstream's address contains one of these
 * words, our messages still show the word. Otherwise the messages would be unreadable. The word
 * reveals nothing, because the list is the same for every upstream.
 */

/** The words in lower case. Each word is at least as long as a piece of a secret. */
const NEVER_HIDDEN_WORDS: ReadonlySet<string> = new Set(
  `
  account accounts address again answer answered answers asked attempted before budget cannot certificate
  character client closed connect connection content contexts destroyed error exchange expected failed
  failure follower forwarded getaddrinfo header headers invalid length listed longer market markets markpx
  maximum message minute mismatch network number operation overflow parser passed present protocol question
  questions reading recorded refused refuses repeats request requests response slowed socket starting
  status stopped streams subscription timeout unexpected upstream within without
  `
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/**
 * The characters before and after a word in a sentence. They rarely surround a word in an address
 * or a key.
 */
const BEFORE = /^[\s("]?$/;
const AFTER = /^[\s).,:;"]?$/;

/**
 * Returns true if a part of a text (in lower case) is within one of these words, and the word is
 * separate.
 */
export function isInNeverHiddenWord(text: string, start: number, end: number): boolean {
  let from = start;
  let to = end;
  while (isLetter(text[from - 1])) from--;
  while (isLetter(text[to])) to++;
  if (!BEFORE.test(text[from - 1] ?? '') || !AFTER.test(text[to] ?? '')) return false;
  return NEVER_HIDDEN_WORDS.has(text.slice(from, to));
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && character >= 'a' && character <= 'z';
}
