/**
 * The words of messages that are no text of an upstream: our own, those of Node and of its HTTP client. Where
 * the address of an upstream has such a word in it, the message would be unreadable without it, and shows
 * nothing with it: it is the same for every upstream.
 */

/** As long as a piece of a secret, or longer; in lower case. */
const FIXED_WORDS: ReadonlySet<string> = new Set(
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

/** What may come before and after a word of a sentence, and seldom does within an address or a key. */
const BEFORE = /^[\s("]?$/;
const AFTER = /^[\s).,:;"]?$/;

/** Whether a part of a text, in lower case, lies within one such word that stands apart. */
export function isInFixedWord(text: string, start: number, end: number): boolean {
  let from = start;
  let to = end;
  while (isLetter(text[from - 1])) from--;
  while (isLetter(text[to])) to++;
  if (!BEFORE.test(text[from - 1] ?? '') || !AFTER.test(text[to] ?? '')) return false;
  return FIXED_WORDS.has(text.slice(from, to));
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && character >= 'a' && character <= 'z';
}
