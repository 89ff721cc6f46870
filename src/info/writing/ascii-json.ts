/**
 * Escapes non-ASCII characters, because answers are written as ASCII. In JSON, these characters
 * occur only in strings, where an escape is valid.
 */
export function toAscii(json: string): string {
  return json.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
