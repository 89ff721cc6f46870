/** The head of an answer's response, byte for byte as Node writes what respond.ts gives it. */

import type { Allowance } from '../../access/budgets.ts';
import { AnswerWriter, type FixedText, fixedText } from '../../info/answer-writer.ts';
import type { StateView } from '../../state/state.ts';
import { COMMON_HEADERS } from '../respond.ts';

const START = fixedText(
  `HTTP/1.1 200 OK\r\n${Object.entries(COMMON_HEADERS)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}Content-Length: `,
);
const LIMIT = fixedText('\r\nRateLimit-Limit: ');
const REMAINING = fixedText('\r\nRateLimit-Remaining: ');
const RESET = fixedText('\r\nRateLimit-Reset: ');

export class ResponseHead {
  readonly #keepAlive: string;
  readonly #out = new AnswerWriter();
  /** The headers that all responses of a height, or of a second, have in common. */
  #ledger = { height: -1, text: fixedText('') };
  #end = { second: -1, text: fixedText('') };

  constructor(idleTimeoutMs: number) {
    const seconds = Math.floor(idleTimeoutMs / 1000);
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}`;
  }

  write(state: StateView, bodyLength: number, allowance: Allowance | undefined): AnswerWriter {
    const out = this.#out;
    out.clear();
    out.fixed(START);
    out.whole(bodyLength);
    out.fixed(this.#ledgerOf(state));
    if (allowance !== undefined) {
      out.fixed(LIMIT);
      out.whole(allowance.limit);
      out.fixed(REMAINING);
      out.whole(allowance.remaining);
      out.fixed(RESET);
      out.whole(allowance.resetSeconds);
    }
    out.fixed(this.#endAt(Date.now()));
    return out;
  }

  #ledgerOf({ height, time }: StateView): FixedText {
    if (this.#ledger.height !== height) {
      const text = fixedText(`\r\nLedger-Height: ${height}\r\nLedger-Time: ${time}`);
      this.#ledger = { height, text };
    }
    return this.#ledger.text;
  }

  #endAt(nowMs: number): FixedText {
    const second = Math.floor(nowMs / 1000);
    if (this.#end.second !== second) {
      const date = new Date(nowMs).toUTCString();
      const text = fixedText(`\r\nDate: ${date}\r\n${this.#keepAlive}\r\n\r\n`);
      this.#end = { second, text };
    }
    return this.#end.text;
  }
}
