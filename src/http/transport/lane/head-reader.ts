/**
 * Parses the heads of requests on the fast lane. If a head is like the last head of its connection,
 * only the different part is parsed.
 */

import type { Answers } from '../../answering/answers.ts';
import type { LaneExit } from '../../answering/counters.ts';
import { QuerySource } from '../../answering/question-source.ts';
import { pageOf } from '../../message/request-head.ts';
import type { HttpSettings } from '../../settings.ts';
import type { LaneConnection, LaneHead } from './lane-connection.ts';
import {
  isOrdinaryQuery,
  type PartialHead,
  parseOrdinaryHead,
  parseOrdinaryLength,
} from './ordinary-request.ts';
import { findPartEnd, findVaryingPart, isSamePart, replacePart } from './varying-part.ts';

export interface HeadReaderParts {
  readonly answers: Answers;
  readonly settings: Pick<HttpSettings, 'headerBytesMax' | 'bodyBytesMax'>;
}

const HEAD_END = '\r\n\r\n';
const LINE_END_LENGTH = 2;

export class HeadReader {
  readonly #parts: HeadReaderParts;

  constructor(parts: HeadReaderParts) {
    this.#parts = parts;
  }

  /**
   * Reads the head at `start`. Returns "partial" if the head is incomplete. Returns the reason if
   * Node has to read the head.
   */
  read(
    connection: LaneConnection,
    bytes: Buffer,
    start: number,
    end: number,
  ): LaneHead | 'partial' | LaneExit {
    const { head } = connection;
    // This head was read before. The bytes are the rest of its body.
    if (head !== undefined && connection.partialHead.isAdmitted) return head;
    if (head !== undefined && this.#isAsLong(head, bytes, start, end)) return head;
    const searchStart = start + Math.max(0, connection.partialHead.checkedLength - LINE_END_LENGTH);
    const found = bytes.indexOf(HEAD_END, searchStart, 'latin1');
    const bodyStart = found + HEAD_END.length;
    const isWhole = found !== -1 && bodyStart <= end;
    const { headerBytesMax } = this.#parts.settings;
    if ((isWhole ? found : end) - start >= headerBytesMax) return 'too_large';
    if (!isWhole) return checkPartial(connection.partialHead, bytes, start, end);
    if (head !== undefined && this.#vary(head, bytes, start, bodyStart)) return head;
    const parsed = this.#parse(bytes.subarray(start, bodyStart));
    if (typeof parsed !== 'string') connection.head = parsed;
    return parsed;
  }

  /**
   * Returns true if the next head has the same length as the last head, and differs only in the
   * varying part, or not at all.
   */
  #isAsLong(head: LaneHead, bytes: Buffer, start: number, end: number): boolean {
    const headEnd = start + head.bytes.length;
    if (headEnd > end) return false;
    // Queries usually differ. The lengths of bodies are usually the same.
    const isRepeated =
      head.varying?.kind !== 'query' && isSameAs(head.bytes, bytes, start, headEnd);
    return isRepeated || this.#vary(head, bytes, start, headEnd);
  }

  /**
   * Updates the last head to the new head. Returns false if they differ outside of the varying
   * part.
   */
  #vary(head: LaneHead, bytes: Buffer, start: number, end: number): boolean {
    const { varying } = head;
    if (varying === undefined) return false;
    const partEnd = findPartEnd(varying, head.bytes, bytes, start, end);
    if (partEnd === -1) return false;
    const isAsLong = end - start === head.bytes.length;
    if (isAsLong && isSamePart(varying, head.bytes, bytes, start)) return true;
    if (!this.#readPart(head, bytes, start + varying.start, partEnd)) return false;
    if (isAsLong) {
      replacePart(varying, head.bytes, bytes, start);
    } else {
      head.bytes = Buffer.from(bytes.subarray(start, end));
      varying.end = partEnd - start;
    }
    head.isAdmitted = false;
    return true;
  }

  /**
   * Parses the varying part. If the part has an unusual form, returns false and does not change the
   * head.
   */
  #readPart(head: LaneHead, bytes: Buffer, start: number, end: number): boolean {
    const { answers, settings } = this.#parts;
    if (head.varying?.kind === 'query') {
      if (!isOrdinaryQuery(bytes, start, end)) return false;
      head.parsed = answers.changeQuery(head.parsed, new QuerySource(bytes, start, end));
      return true;
    }
    const bodyLength = parseOrdinaryLength(bytes, start, end);
    if (bodyLength === undefined || bodyLength > settings.bodyBytesMax) return false;
    head.bodyLength = bodyLength;
    return true;
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
    const varying = findVaryingPart(text, ordinary);
    return { bytes: Buffer.from(bytes), varying, parsed, bodyLength, isLast, isAdmitted: false };
  }
}

function isSameAs(head: Buffer, bytes: Buffer, start: number, end: number): boolean {
  return bytes.compare(head, 0, head.length, start, end) === 0;
}

function checkPartial(
  head: PartialHead,
  bytes: Buffer,
  start: number,
  end: number,
): 'partial' | LaneExit {
  return head.check(bytes.toString('latin1', start + head.checkedLength, end)) ?? 'partial';
}
