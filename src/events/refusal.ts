/** The errors for refused input. */

const SHOWN_LENGTH_MAX = 60;

/** The reason why an event is refused: the field, its value, and what was expected. */
export class Refusal extends Error {
  readonly field: string;
  readonly value: unknown;
  readonly expected: string;

  constructor(field: string, value: unknown, expected: string) {
    super(`${describeField(field)}: got ${describeValue(value)}, expected ${expected}`);
    this.name = 'Refusal';
    this.field = field;
    this.value = value;
    this.expected = expected;
  }
}

/** The part that a refusal applies to: a whole block, or one of its events. */
export interface BlockPlace {
  height?: number | undefined;
  index?: number | undefined;
  type?: string | undefined;
}

/** A refused block; the message names the block, the event and the field. */
export class BlockError extends Error {
  readonly height: number | undefined;
  readonly index: number | undefined;
  readonly field: string;

  constructor(place: BlockPlace, cause: Refusal) {
    super(`${describePlace(place)}: ${cause.message}`, { cause });
    this.name = 'BlockError';
    this.height = place.height;
    this.index = place.index;
    this.field = cause.field;
  }
}

function describePlace({ height, index, type }: BlockPlace): string {
  const block = height === undefined ? 'block' : `block ${height}`;
  if (index === undefined) return block;
  return type === undefined ? `${block}, event ${index}` : `${block}, event ${index} (${type})`;
}

/** Describes a value for an error message: shortened, and without nested values. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  if (value.length <= SHOWN_LENGTH_MAX) return quote(value);
  const shown = quote(value.slice(0, SHOWN_LENGTH_MAX));
  return `${shown}… (${value.length} characters)`;
}

/** Characters that are invisible, such as a byte order mark, or that look like a space. */
const INVISIBLE = /(?! )[\p{Cc}\p{Cf}\p{Z}]/gu;

/**
 * Returns the text as JSON. Invisible characters are escaped, so that the reader of the message
 * sees them.
 */
function quote(text: string): string {
  // Without the flag "u", the pattern matches each half of a surrogate pair separately.
  return JSON.stringify(text).replace(INVISIBLE, (found) => found.replace(/[\s\S]/g, escapeUnit));
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Field names are untrusted too: a name may be very long, or contain control characters. */
function describeField(field: string): string {
  const shown = quote(field.slice(0, SHOWN_LENGTH_MAX)).slice(1, -1);
  return field.length > SHOWN_LENGTH_MAX ? `${shown}…` : shown;
}

/** Adds the path of the enclosing object or array to a refusal's field. */
export function prefixRefusal(path: string, { field, value, expected }: Refusal): Refusal {
  const isIndex = field === '' || field.startsWith('[');
  return new Refusal(isIndex ? path + field : `${path}.${field}`, value, expected);
}
