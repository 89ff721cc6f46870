/**
 * An outcome on NATS, whose messages are bounded: the first message has the outcome as a line of JSON, and
 * the bytes that follow it are cut into as many messages as they need. Each message begins with a line
 * that names the transfer, since two followers may answer at the same time while one replaces the other.
 *
 *   {"transfer": "4f1d22a0", "outcome": ..., "bytes": 7800000}, a line break, and the first bytes
 *   {"transfer": "4f1d22a0"}, a line break, and further bytes
 */

import { isJsonObject } from '../../../events/fields.ts';
import { parseWantedMessage, type SentOutcome } from '../wanted-messages.ts';

/** Small enough for other messages to get their turn in between. */
const PART_BYTES_MAX = 256 << 10;
/** More than any answer of an exchange has. */
const BYTES_MAX = 1 << 26;
const NEWLINE = 10;

/** In order; the first one is too long if the outcome itself is. */
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
  /** Undefined if nothing follows. */
  readonly bytes: Buffer | undefined;
  length: number;
}

/** Puts the messages together again. */
export class OutcomeParts {
  readonly #transfers = new Map<string, Transfer>();

  /** The first outcome that is complete with this message; undefined if none is. */
  take(
    data: Uint8Array,
  ): { readonly outcome: unknown; readonly bytes: Buffer | undefined } | undefined {
    const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const end = message.indexOf(NEWLINE);
    const line = parseWantedMessage(message.subarray(0, end === -1 ? undefined : end).toString());
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
  // Of one piece, since it is passed on as it is.
  const bytes = isCount ? Buffer.allocUnsafeSlow(Number(count)) : undefined;
  return { outcome, bytes, length: 0 };
}
