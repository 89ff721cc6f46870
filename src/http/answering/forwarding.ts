/**
 * Forwards questions that the ledger cannot answer to the exchange, if the setting --forward is on.
 */

import type { WorkDone } from '../../access/prepayment.ts';
import type { UpstreamQuestion } from '../../info/question.ts';
import { RequestError } from '../../info/request-error.ts';
import {
  type FollowerClient,
  type ForwardAnswer,
  type ForwardOutcome,
  wasAsked,
} from '../../upstream/channel/follower-client.ts';
import type { HttpSettings } from '../settings.ts';
import { LATE, type Requester, Wait } from './cancellation.ts';

/** The outcome of a forwarded question. */
export interface Forwarded {
  /** The exchange's answer, or the reason why there is no answer. */
  readonly answer: ForwardAnswer | RequestError;
  /** Whether the question was sent to the exchange. */
  readonly wasAsked: WorkDone;
}

export interface ForwardingParts {
  /** The client that sends questions to the follower; undefined without a follower. */
  readonly follower?: FollowerClient | undefined;
  readonly settings: Pick<HttpSettings, 'forward' | 'followWait'>;
}

export class Forwarding {
  readonly #parts: ForwardingParts;
  /** True if questions are forwarded. */
  readonly isOn: boolean;

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
    this.isOn = parts.settings.forward && parts.follower !== undefined;
  }

  /** Forwards a question. Returns the exchange's answer, or the reason why there is no answer. */
  async ask({ body }: UpstreamQuestion, { keyId, cancellation }: Requester): Promise<Forwarded> {
    const { follower, settings } = this.#parts;
    if (follower === undefined) return { answer: refuseLate(settings.followWait), wasAsked: false };
    const wait = new Wait(settings.followWait, cancellation);
    const asking = follower.forward(body, keyId);
    const outcome = await Promise.race([asking, wait.late]);
    wait.stop();
    if (outcome !== LATE) return { answer: readOutcome(outcome), wasAsked: wasAsked(outcome) };
    const refusal = cancellation.refusal ?? refuseLate(settings.followWait);
    return { answer: refusal, wasAsked: asking.then(wasAsked) };
  }
}

function refuseLate(waitMs: number): RequestError {
  return new RequestError('upstream_failed', `the exchange has not answered within ${waitMs} ms`);
}

function readOutcome(outcome: ForwardOutcome): ForwardAnswer | RequestError {
  if (outcome.outcome === 'answered') return outcome;
  if (outcome.outcome === 'failed') return new RequestError('upstream_failed', outcome.reason);
  if (outcome.outcome === 'busy') {
    const { reason, retryAfterSeconds } = outcome;
    return new RequestError('not_ready', reason, undefined, retryAfterSeconds);
  }
  const { reason, field } = outcome;
  const code = outcome.code ?? (field === 'dex' ? 'unknown_dex' : 'invalid_field');
  const message = wasAsked(outcome) ? `the exchange refused it: ${reason}` : reason;
  return new RequestError(code, message, field);
}
