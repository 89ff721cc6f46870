/**
 * Sends an outcome in several NATS messages, because the size of a message is limited. The first
 * message contains the outcome as a line of JSON. The bytes that follow the outcome are cut into as
 * many messages as necessary. Each message starts with a line that names the transfer: while a new
 * follower replaces an old follower, both may answer at the same time.
 *
 *   {"transfer": "4f1d22a0", "outcome": ..., "bytes": 7800000}, a line break, and the first bytes
 *   {"transfer": "4f1d22a0"}, a line break, and further bytes
 */

import { isJsonObject } from '../../../events/fields.ts';
import { parseChannelMessage, type SentOutcome } from '../channel-messages.ts';

/**
 * The maximum size of a message in bytes. It is small, so that other messages can be sent between
 * the parts.
 */
const PART_BYTES_MAX = 256 << 10;
/** The maximum number of bytes after an outcome. No answer of an exchange has this many bytes. */
const BYTES_MAX = 1 << 26;
const NEWLINE = 10;

/**
 * Returns the messages in order. The first message is longer than `messageBytesMax` if the JSON of
 * the outcome does not fit into one message.
 */
export function* cutOutcome(
  transfer: string,
  { outcome, bytes }: SentOutcome,
  messageBytesMax: number,
): Generator<Buffer> {
  const count = bytes === undefined ? {} : { bytes: bytes.length };
  const first = lineOf({ transfer, outcome, ...count });
  const rest = bytes ?? Buffer.alloc(0);
  const room = (line: Buffer) => Math.min(PART_BYTES_MAX, messageBytesMax) - line.length;
  let at = Math.max(0, room(first));
  yield Buffer.concat([first, rest.subarray(0, at)]);
  const line = lineOf({ transfer });
  while (at < rest.length) {
    const end = at + room(line);
    yield Buffer.concat([line, rest.subarray(at, end)]);
    at = end;
  }
}

function lineOf(message: object): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`);
}

interface Transfer {
  readonly outcome: unknown;
  /** The bytes that follow the outcome; undefined if none follow. */
  readonly bytes: Buffer | undefined;
  length: number;
}

/** Puts the messages of each transfer together. */
export class OutcomeAssembler {
  readonly #transfers = new Map<string, Transfer>();

  /** Returns the outcome if this message completes it; otherwise returns undefined. */
  take(
    data: Uint8Array,
  ): { readonly outcome: unknown; readonly bytes: Buffer | undefined } | undefined {
    const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const end = message.indexOf(NEWLINE);
    const line = parseChannelMessage(message.subarray(0, end === -1 ? undefined : end).toString());
    if (!isJsonObject(line) || typeof line['transfer'] !== 'string') return undefined;
    const { transfer: name, outcome, bytes } = line;
    if (outcome !== undefined) this.#transfers.set(name, start(outcome, bytes));
    const transfer = this.#transfers.get(name);
    if (transfer === undefined) return undefined;
    if (transfer.bytes === undefined) return { outcome: transfer.outcome, bytes: undefined };
    transfer.length += message.copy(transfer.bytes, transfer.length, end + 1);
    return transfer.length === transfer.bytes.length ? { ...transfer } : undefined;
  }
}

function start(outcome: unknown, count: unknown): Transfer {
  const isCount = Number.isSafeInteger(count) && Number(count) >= 0 && Number(count) <= BYTES_MAX;
  // The buffer is contiguous, because the bytes are passed on unchanged.
  const bytes = isCount ? Buffer.allocUnsafeSlow(Number(count)) : undefined;
  return { outcome, bytes, length: 0 };
}
