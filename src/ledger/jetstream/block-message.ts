/**
 * A block as a message of a JetStream stream. The message's sequence is the block's height, the
 * payload is the block's line, and the headers are:
 *
 *   Nats-Msg-Id           HEIGHT:HASH, so that a retried publish is not stored twice
 *   Perpinfo-Hash         the block's hash, in hexadecimal
 *   Perpinfo-Previous     the previous block's hash: for the oldest stored block, it is the base's hash
 *   Perpinfo-Encoding     "deflate" if the line is deflated because it would not fit otherwise
 */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { MsgHdrs } from '@nats-io/transport-node';
import { HASH_BYTES } from '../hash-chain.ts';
import { type ChainPoint, LedgerError, type StoredBlock } from '../ledger.ts';

const HASH = 'Perpinfo-Hash';
const PREVIOUS = 'Perpinfo-Previous';
const ENCODING = 'Perpinfo-Encoding';
const DEFLATE = 'deflate';
/** Bytes that are reserved for the headers in a message of maximum size. */
const HEADERS_BYTES_MAX = 1024;
/**
 * The largest possible --block-bytes-max. It limits the size to which a damaged message can
 * inflate.
 */
const LINE_BYTES_MAX = 1 << 30;

export interface BlockPayload {
  readonly payload: Uint8Array;
  readonly headers: MsgHdrs;
}

/** Fills the headers of the block after `previous`, and returns them with the payload. */
export function encodeMessage(
  previous: ChainPoint,
  { height, hash, line }: StoredBlock,
  headers: MsgHdrs,
  messageBytesMax: number,
): BlockPayload {
  headers.set(HASH, hash.toString('hex'));
  headers.set(PREVIOUS, previous.hash.toString('hex'));
  const room = messageBytesMax - HEADERS_BYTES_MAX;
  if (line.length <= room) return { payload: line, headers };
  const deflated = deflateRawSync(line);
  if (deflated.length > room) {
    const message =
      `block ${height} has ${line.length} bytes, deflated ${deflated.length}: ` +
      `expected at most ${room}, the max_payload of the NATS server less the headers`;
    throw new LedgerError('limit', message);
  }
  headers.set(ENCODING, DEFLATE);
  return { payload: deflated, headers };
}

function readHash(height: number, headers: MsgHdrs | undefined, name: string): Buffer {
  const hash = Buffer.from(headers?.get(name) ?? '', 'hex');
  if (hash.length === HASH_BYTES) return hash;
  const message = `block ${height} was not written by a ledger's writer: it has no ${name} header`;
  throw new LedgerError('corrupt', message);
}

/**
 * Returns the point in the hash chain before a block, read from the headers of the block's message.
 */
export function readPrevious(height: number, headers: MsgHdrs | undefined): ChainPoint {
  return { height: height - 1, hash: readHash(height, headers, PREVIOUS) };
}

function createEncodingError(height: number, encoding: string): LedgerError {
  const message =
    `block ${height} has the encoding ${JSON.stringify(encoding)}, expected none or ${DEFLATE}: ` +
    'it was written by a newer perpinfo, upgrade this one';
  return new LedgerError('newer', message);
}

export function decodeMessage(
  height: number,
  headers: MsgHdrs | undefined,
  payload: Uint8Array,
): StoredBlock {
  const hash = readHash(height, headers, HASH);
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const encoding = headers?.get(ENCODING) ?? '';
  if (encoding === '') return { height, hash, line: bytes };
  if (encoding !== DEFLATE) throw createEncodingError(height, encoding);
  try {
    return { height, hash, line: inflateRawSync(bytes, { maxOutputLength: LINE_BYTES_MAX }) };
  } catch (error) {
    const reason = (error as Error).message;
    const message = `block ${height} is damaged: it cannot be inflated (${reason})`;
    throw new LedgerError('corrupt', message, { cause: error });
  }
}
