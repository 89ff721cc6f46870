/**
 * Reads a user's delegations. An answer contains neither the user nor a time. If an answer has
 * nothing in common with the last answer, the question is asked again.
 */

import type { WireEvent } from '../../../events/event.ts';
import type { QuestionAsker } from '../../client/question-asker.ts';
import type { AskOptions } from '../../client/upstream.ts';
import { readDelegationsAnswer } from '../../dialect/delegations-answer.ts';
import { DialectError } from '../../dialect/dialect.ts';
import type { FollowAudit } from '../follow-audit.ts';
import type { Watched } from './watch-list.ts';

export type DelegationsResult =
  | { readonly kind: 'checked'; readonly event: WireEvent }
  | { readonly kind: 'failed'; readonly reason: string };

const READS_MAX = 3;

export class DelegationsReader {
  readonly #upstream: QuestionAsker;
  readonly #audit: FollowAudit;
  /** The last accepted list of each user. */
  readonly #accepted = new WeakMap<Watched, WireEvent>();

  constructor(upstream: QuestionAsker, audit: FollowAudit) {
    this.#upstream = upstream;
    this.#audit = audit;
  }

  /** Rejects with an UpstreamError if the upstream does not answer. */
  async read(watched: Watched, ask: AskOptions): Promise<DelegationsResult> {
    let before = this.#accepted.get(watched);
    for (let reads = 0; reads < READS_MAX; reads++) {
      const question = { type: 'delegations', user: watched.item.user };
      const json = await this.#upstream.ask(question, ask);
      const event = readDelegationsAnswer(json, watched.address);
      if (event instanceof DialectError) {
        this.#audit.noteMismatch(`delegations of ${watched.key}`, event.mismatch);
        return { kind: 'failed', reason: event.message };
      }
      if (before !== undefined && isSameList(before, event)) {
        this.#accepted.set(watched, event);
        return { kind: 'checked', event };
      }
      before = event;
    }
    return { kind: 'failed', reason: `${READS_MAX} answers in a row have nothing in common` };
  }
}

interface Listed {
  readonly validator: string;
  readonly lockedUntilTimestamp: number;
}

/**
 * Returns true if the lists can belong to the same user. Rewards change the amounts, but neither
 * validators nor locks.
 */
function isSameList(first: WireEvent, second: WireEvent): boolean {
  const [one, other] = [first, second].map((event) => event['delegations'] as Listed[]);
  if (one.length === 0 || other.length === 0) return one.length === other.length;
  return one.some(({ validator, lockedUntilTimestamp: lock }) =>
    other.some((listed) => listed.validator === validator && listed.lockedUntilTimestamp === lock),
  );
}
