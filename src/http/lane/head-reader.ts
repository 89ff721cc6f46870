/** Parses the heads of requests on the fast lane; a repeated head is not parsed again. */

import type { Settings } from '../../config/settings.ts';
import type { Answers } from '../answers.ts';
import type { LaneExit } from '../counters.ts';
import { pageOf } from '../request-head.ts';
import type { LaneConnection, LaneHead } from './lane-connection.ts';
import { type PartialHead, parseOrdinaryHead } from './ordinary-request.ts';

export interface HeadReaderParts {
  readonly answers: Answers;
  readonly settings: Settings<'headerBytesMax' | 'bodyBytesMax'>;
}

const HEAD_END = '\r\n\r\n';
const LINE_END_LENGTH = 2;

export class HeadReader {
  readonly #parts: HeadReaderParts;

  constructor(parts: HeadReaderParts) {
    this.#parts = parts;
  }

  /** The head that starts there; "partial" if it is incomplete, or why it is left to Node. */
  read(
    connection: LaneConnection,
    bytes: Buffer,
    start: number,
    end: number,
  ): LaneHead | 'partial' | LaneExit {
    const { head } = connection;
    // The rest of a body has come, after a head that was read before.
    if (head !== undefined && connection.isHeadAdmitted) return head;
    if (head !== undefined && startsWith(bytes, start, end, head.bytes)) return head;
    const searchStart = start + Math.max(0, connection.partialHead.checkedLength - LINE_END_LENGTH);
    const found = bytes.indexOf(HEAD_END, searchStart, 'latin1');
    const bodyStart = found + HEAD_END.length;
    const isWhole = found !== -1 && bodyStart <= end;
    const { headerBytesMax } = this.#parts.settings;
    if ((isWhole ? found : end) - start >= headerBytesMax) return 'too_large';
    if (!isWhole) return checkPartial(connection.partialHead, bytes, start, end);
    const parsed = this.#parse(bytes.subarray(start, bodyStart));
    if (typeof parsed !== 'string') connection.head = parsed;
    return parsed;
  }

  #parse(bytes: Buffer): LaneHead | LaneExit {
    const { answers, settings } = this.#parts;
    const text = bytes.toString('latin1', 0, bytes.length - HEAD_END.length);
    const ordinary = parseOrdinaryHead(text);
    if (typeof ordinary === 'string') return ordinary;
    const { method, bodyLength, isLast } = ordinary;
    if (method === 'POST' && bodyLength > settings.bodyBytesMax) return 'too_large';
    const parsed = answers.readHead(ordinary);
    if (pageOf(parsed) !== undefined) return 'page';
    return { bytes: Buffer.from(bytes), parsed, bodyLength, isLast, isAdmitted: false };
  }
}

function startsWith(bytes: Buffer, start: number, end: number, head: Buffer): boolean {
  const headEnd = start + head.length;
  return headEnd <= end && bytes.compare(head, 0, head.length, start, headEnd) === 0;
}

function checkPartial(
  head: PartialHead,
  bytes: Buffer,
  start: number,
  end: number,
): 'partial' | LaneExit {
  return head.check(bytes.toString('latin1', start + head.checkedLength, end)) ?? 'partial';
}
