/** Asks the probed server, one request at a time, within a small budget. */

import type { QuestionBody } from '../../info/question.ts';
import { PUBLIC_WEIGHTS } from '../../info/upstream-weights.ts';
import { readUpstreamAnswer } from '../client/answers/upstream-answer.ts';
import type { Clock } from '../client/limits/clock.ts';
import { type Ticket, UpstreamBudget } from '../client/limits/upstream-budget.ts';
import type { UpstreamAddress } from '../client/upstream-address.ts';
import { UpstreamError } from '../client/upstream-error.ts';
import type { HttpResponse, UpstreamHttp } from '../client/upstream-http.ts';

export interface ProbeAnswer {
  /** The status of the response; undefined if there was no response. */
  readonly status: number | undefined;
  /** The reason why there is no answer; undefined if there is an answer. */
  readonly error: UpstreamError | undefined;
  readonly json: unknown;
  /** The time from the request to the last byte of the response. */
  readonly ms: number;
  readonly bytes: number;
  /**
   * The time of this machine's clock when the response was complete, in milliseconds since 1970.
   */
  readonly receivedMs: number;
  /**
   * The time in the `Date` header of the response, in milliseconds since 1970; undefined if the
   * response has no such header. The time is rounded to whole seconds.
   */
  readonly dateMs: number | undefined;
}

export interface ProbeClientOptions {
  readonly http: Pick<UpstreamHttp, 'post'>;
  readonly address: UpstreamAddress;
  /** The weight per minute. */
  readonly budget: number;
  readonly clock: Clock;
  wallMs(): number;
}

export class ProbeClient {
  readonly #options: ProbeClientOptions;
  readonly #budget: UpstreamBudget;
  /** The weight that was spent in total. */
  spent = 0;
  /** The number of answers with status 429. */
  refusals = 0;

  constructor(options: ProbeClientOptions) {
    const { budget: limit, clock } = options;
    this.#options = options;
    this.#budget = new UpstreamBudget({ limit, clock, forwardShare: 0, inFlightMax: 1 });
  }

  /** Returns the answer; returns undefined if the probe ends before the question is sent. */
  async ask(question: QuestionBody): Promise<ProbeAnswer | undefined> {
    const weight = PUBLIC_WEIGHTS.maxOf(question.type);
    const ticket = await new Promise<Ticket | UpstreamError>((resolve) =>
      this.#budget.request({ priority: 'probe', weight, granted: resolve, failed: resolve }),
    );
    if (ticket instanceof UpstreamError) return undefined;
    return this.#send(question, weight, ticket);
  }

  async #send(question: QuestionBody, weight: number, ticket: Ticket): Promise<ProbeAnswer> {
    const { http, clock, wallMs } = this.#options;
    this.spent += weight;
    const { arrival, result } = await http.post(JSON.stringify(question));
    const ms = clock.nowMs() - ticket.sentMs;
    const answer =
      result instanceof UpstreamError ? result : readUpstreamAnswer(result, this.#options.address);
    ticket.end(arrival, weight);
    if (answer instanceof UpstreamError && answer.kind === 'rate_limited') {
      this.refusals++;
      this.#budget.refused(ticket.sentMs, answer.retryAfterMs);
    } else this.#budget.answered(ticket.sentMs);
    const response = result instanceof UpstreamError ? undefined : result;
    const isAnswered = !(answer instanceof UpstreamError);
    return {
      status: response?.status,
      error: isAnswered ? undefined : answer,
      json: isAnswered ? answer.json : undefined,
      ms,
      bytes: response?.body.length ?? 0,
      receivedMs: wallMs(),
      dateMs: readDate(response),
    };
  }

  close(): void {
    this.#budget.close(new UpstreamError('closed', 'the probe has ended'));
  }
}

function readDate(response: HttpResponse | undefined): number | undefined {
  const time = Date.parse(String(response?.headers['date'] ?? ''));
  return Number.isNaN(time) ? undefined : time;
}
