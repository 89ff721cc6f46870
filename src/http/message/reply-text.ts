/**
 * Renders a reply as the bytes of an HTTP/1.1 response. The bytes are the same as from Node's
 * server (node/send-response.ts).
 */

import { STATUS_CODES } from 'node:http';
import { AnswerWriter, type FixedText, fixedText } from '../../info/writing/answer-writer.ts';
import {
  firstHeaders,
  type HeaderName,
  type HeaderSink,
  hasBody,
  LEDGER_HEIGHT,
  LEDGER_TIME,
  putClose,
  putHeaders,
  type Reply,
} from './reply.ts';

export interface RenderOptions {
  /** True for the response to HEAD, which has only a head, with the Content-Length of the body. */
  readonly isHead?: boolean;
  /** True if the connection is closed after the response. The default is the reply's `isLast`. */
  readonly isLast?: boolean;
}

export class ReplyText implements HeaderSink {
  readonly #keepAlive: string;
  readonly #out = new AnswerWriter();
  /**
   * The status line and the first headers of each status. They are the same in all responses with
   * the status.
   */
  readonly #starts = new Map<number, FixedText>();
  readonly #csvStarts = new Map<number, FixedText>();
  /**
   * A cache of the header lines of the newest ledger position. The position changes only when a
   * block is applied.
   */
  #position = { height: -1, time: -1, text: fixedText('') };
  /**
   * The end of the head, with keep-alive and without. The end is cached for a second, because it
   * contains the Date header.
   */
  #end = { second: -1, keepAlive: fixedText(''), close: fixedText('') };

  constructor(idleTimeoutMs: number) {
    const seconds = Math.floor(idleTimeoutMs / 1000);
    this.#keepAlive = `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}`;
  }

  /**
   * Returns the response as latin1 text, with one character per byte. If the body is a Buffer, the
   * text is only the head.
   */
  format(reply: Reply, { isHead = false, isLast = reply.isLast }: RenderOptions = {}): string {
    const { body } = reply;
    if (Buffer.isBuffer(body)) return this.#writeHead(reply, body.length, isLast).toString();
    if (typeof body !== 'string') {
      const head = this.#writeHead(reply, body.length, isLast);
      return isHead ? head.toString() : body.textAfter(head);
    }
    const bytes = hasBody(reply) ? toByteText(body) : '';
    const head = this.#writeHead(reply, bytes.length, isLast).toString();
    return isHead ? head : head + bytes;
  }

  #writeHead(reply: Reply, length: number, isLast: boolean): AnswerWriter {
    const out = this.#out;
    out.clear();
    out.fixed(this.#startOf(reply));
    putHeaders(reply, length, this);
    if (isLast) putClose(this);
    const end = this.#endAt(Date.now());
    out.fixed(isLast ? end.close : end.keepAlive);
    return out;
  }

  putNumber({ line }: HeaderName, value: number): void {
    this.#out.fixed(line);
    this.#out.whole(value);
  }

  putText({ line }: HeaderName, value: string): void {
    this.#out.fixed(line);
    this.#out.text(value);
  }

  putPosition(height: number, time: number): void {
    if (this.#position.height !== height || this.#position.time !== time) {
      const line = ({ name }: HeaderName, value: number) => `\r\n${name}: ${value}`;
      const text = fixedText(line(LEDGER_HEIGHT, height) + line(LEDGER_TIME, time));
      this.#position = { height, time, text };
    }
    this.#out.fixed(this.#position.text);
  }

  #startOf(reply: Reply): FixedText {
    const { status } = reply;
    const starts = reply.isCsv ? this.#csvStarts : this.#starts;
    let start = starts.get(status);
    if (start === undefined) {
      const headers = Object.entries(firstHeaders(reply));
      const lines = headers.map(([name, value]) => `\r\n${name}: ${value}`);
      start = fixedText(`HTTP/1.1 ${status} ${STATUS_CODES[status]}${lines.join('')}`);
      starts.set(status, start);
    }
    return start;
  }

  #endAt(nowMs: number): { keepAlive: FixedText; close: FixedText } {
    const second = Math.floor(nowMs / 1000);
    if (this.#end.second !== second) {
      const date = `\r\nDate: ${new Date(nowMs).toUTCString()}`;
      const keepAlive = fixedText(`${date}${this.#keepAlive}\r\n\r\n`);
      this.#end = { second, keepAlive, close: fixedText(`${date}\r\n\r\n`) };
    }
    return this.#end;
  }
}

/**
 * Returns the UTF-8 bytes of a text as latin1 text. Most texts are ASCII, and are returned
 * unchanged.
 */
function toByteText(text: string): string {
  if (Buffer.byteLength(text) === text.length) return text;
  return Buffer.from(text).toString('latin1');
}
