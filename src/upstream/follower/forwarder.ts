/**
 * Forwards questions that the ledger cannot answer. Each question is checked and rebuilt here a
 * second time, because any process may have sent it: this is the last check before the upstream.
 */

import { describeValue } from '../../events/refusal.ts';
import type { QuestionBody } from '../../info/question.ts';
import { readForwarded } from '../../info/read-question.ts';
import { RequestError } from '../../info/request-error.ts';
import type { ForwardOutcome } from '../channel/follower-client.ts';
import { AnswerCache, type RawAnswer } from '../client/answers/answer-cache.ts';
import type { Clock } from '../client/limits/clock.ts';
import type { AskOptions } from '../client/upstream.ts';
import { UpstreamError } from '../client/upstream-error.ts';
import { WaitingKeys } from '../client/waiting-keys.ts';
import type { MarketDirectory } from '../dialect/market-directory.ts';
import { outcomeOfFailure } from './failure-outcomes.ts';
import { refuseUnknownName } from './unknown-names.ts';

/** The status with which the upstream refuses an invalid question. */
const REFUSED_STATUS = 422;

/** The part of the upstream's client that the forwarder uses. */
export interface BytesAsker {
  /** Rejects with an UpstreamError if the upstream does not answer. */
  askBytes(question: QuestionBody, options: AskOptions): Promise<RawAnswer>;
}

export interface ForwarderOptions {
  readonly upstream: BytesAsker;
  /**
   * The time for which an answer is reused for the same question, in milliseconds; 0 to never reuse
   * answers.
   */
  readonly ttlMs: number;
  /** The maximum time that a question may wait to be sent. */
  readonly waitMsMax: number;
  readonly clock: Clock;
  /** Returns the exchange's lists; returns undefined while no list is known. */
  readonly directory: () => MarketDirectory | undefined;
}

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache: AnswerCache;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#cache = new AnswerCache(options.ttlMs, options.clock);
  }

  /** Never rejects. */
  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    const read = readForwarded(question);
    if (read === undefined)
      return { outcome: 'failed', reason: `${describeValue(question.type)} is not passed on` };
    if (read instanceof RequestError) return { outcome: 'failed', reason: read.message };
    const refused = this.#refuse(read.body);
    if (refused !== undefined) return refused;
    const key = JSON.stringify(read.body);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return answered(cached);
    return this.#ask(read.body, key, keyId);
  }

  /**
   * Refuses a question without asking the exchange, if the exchange is known to refuse it;
   * otherwise returns undefined.
   */
  #refuse(question: QuestionBody): ForwardOutcome | undefined {
    const directory = this.#options.directory();
    const refusal = directory && refuseUnknownName(question, directory);
    if (refusal === undefined) return undefined;
    const { message: reason, field } = refusal;
    return { outcome: 'refused', reason, field };
  }

  /** Asks the upstream. The upstream's client sends identical questions in flight only once. */
  async #ask(question: QuestionBody, key: string, keyId: string): Promise<ForwardOutcome> {
    const { upstream, waitMsMax } = this.#options;
    const waitingKeys = new WaitingKeys(keyId);
    try {
      const answer = await upstream.askBytes(question, {
        priority: 'forward',
        waitMsMax,
        waitingKeys,
      });
      this.#cache.set(key, answer);
      return answered(answer);
    } catch (error) {
      if (error instanceof UpstreamError && error.status === REFUSED_STATUS) {
        return refused(error);
      }
      return outcomeOfFailure(error as Error);
    }
  }
}

/** A refusal in our own form keeps its code and its field. */
function refused({ message: reason, refusal }: UpstreamError): ForwardOutcome {
  if (refusal === undefined) return { outcome: 'refused', reason, isSent: true };
  const { message, ...named } = refusal;
  return { outcome: 'refused', reason: message, ...named, isSent: true };
}

function answered({ bytes, rows }: RawAnswer): ForwardOutcome {
  return { outcome: 'answered', bytes, rows };
}
