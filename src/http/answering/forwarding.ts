/** With --forward: questions that the ledger does not hold, forwarded to the exchange. */

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

/** What became of a forwarded question. */
export interface Forwarded {
  /** The exchange's answer, or why there is none. */
  readonly answer: ForwardAnswer | RequestError;
  /** Whether the exchange was sent the question. */
  readonly wasAsked: WorkDone;
}

export interface ForwardingParts {
  /** The way to the follower; undefined if there is none. */
  readonly follower?: FollowerClient | undefined;
  readonly settings: Pick<HttpSettings, 'forward' | 'followWait'>;
}

export class Forwarding {
  readonly #parts: ForwardingParts;
  /** Whether questions are forwarded at all. */
  readonly isOn: boolean;

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
    this.isOn = parts.settings.forward && parts.follower !== undefined;
  }

  /** The exchange's answer, or why there is none. */
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
  const code = field === 'dex' ? 'unknown_dex' : 'invalid_field';
  const message = wasAsked(outcome) ? `the exchange refused it: ${reason}` : reason;
  return new RequestError(code, message, field);
}
