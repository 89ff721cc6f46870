/** A reply as the bytes of an HTTP/1.1 response, the same that Node writes for it (node/send-response.ts). */

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
  /** Only the head is sent, with the length that the body would have. */
  readonly isHead?: boolean;
  /** The connection is closed after it; the reply's own `isLast` by default. */
  readonly isLast?: boolean;
}

export class ReplyText implements HeaderSink {
  readonly #keepAlive: string;
  readonly #out = new AnswerWriter();
  /** By status: the status line and the headers that all responses begin with. */
  readonly #starts = new Map<number, FixedText>();
  readonly #csvStarts = new Map<number, FixedText>();
  /** The lines of the last ledger position: it changes with the blocks, not with the answers. */
  #position = { height: -1, time: -1, text: fixedText('') };
  /** The end of the head, if the connection is kept and if it is closed; cached for a second. */
  #end = { second: -1, kept: fixedText(''), closed: fixedText('') };

  constructor(idleTimeoutMs: number) {
    const seconds = Math.floor(idleTimeoutMs / 1000);
    this.#keepAlive = `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}`;
  }

  /** The response as latin1 text, one character per byte; without the body if that is in bytes. */
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
    out.fixed(isLast ? end.closed : end.kept);
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

  #endAt(nowMs: number): { kept: FixedText; closed: FixedText } {
    const second = Math.floor(nowMs / 1000);
    if (this.#end.second !== second) {
      const date = `\r\nDate: ${new Date(nowMs).toUTCString()}`;
      const kept = fixedText(`${date}${this.#keepAlive}\r\n\r\n`);
      this.#end = { second, kept, closed: fixedText(`${date}\r\n\r\n`) };
    }
    return this.#end;
  }
}

/** The text's UTF-8 bytes as latin1 text: the text itself if it is ASCII, as it usually is. */
function toByteText(text: string): string {
  if (Buffer.byteLength(text) === text.length) return text;
  return Buffer.from(text).toString('latin1');
}
