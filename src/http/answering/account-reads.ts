/**
 * Reads accounts and delegations that are missing in a partial ledger, or that are too old, before
 * a question about them is answered. The follower reads them from the exchange.
 */

import type { WorkDone } from '../../access/prepayment.ts';
import { formatAddress } from '../../exact/address.ts';
import {
  describeSubject,
  isSubjectKnown,
  oldestTime,
  type QuestionSubject,
  subjectTime,
} from '../../info/question-subject.ts';
import { RequestError } from '../../info/request-error.ts';
import { UpstreamAnswers } from '../../info/upstream-answers.ts';
import type { LiveState } from '../../replica/live-state.ts';
import type { StateView } from '../../state/state.ts';
import {
  type FollowedItem,
  type FollowerClient,
  type ItemOutcome,
  wasAsked,
} from '../../upstream/channel/follower-client.ts';
import type { Reply } from '../message/reply.ts';
import type { HttpSettings } from '../settings.ts';
import { type Cancellation, LATE, type Requester, Wait } from './cancellation.ts';

export interface AccountReadsParts {
  readonly live: LiveState;
  /** The client that asks the follower to read accounts; undefined without a follower. */
  readonly follower?: FollowerClient | undefined;
  readonly settings: Pick<HttpSettings, 'followWait' | 'maxAccountAge'>;
}

/**
 * The ledger position of a reply, the age of its accounts, and whether they come from the upstream.
 */
export type Provenance = Pick<Reply, 'height' | 'time' | 'accountTime' | 'isFromUpstream'>;

/** The result of the reads for one question. */
export interface AccountReadResult {
  readonly upstreamAnswers: UpstreamAnswers;
  /** Whether the exchange was asked at least once. */
  readonly wasAsked: WorkDone;
}

type Outcome = ItemOutcome | typeof LATE;

export class AccountReads {
  readonly #parts: AccountReadsParts;

  constructor(parts: AccountReadsParts) {
    this.#parts = parts;
  }

  /** The maximum age of accounts, for requests without an Account-Max-Age. */
  get ageMsMax(): number {
    return this.#parts.settings.maxAccountAge || Number.POSITIVE_INFINITY;
  }

  /**
   * Reads the subjects that are unknown or too old. Returns undefined if no subject has to be read,
   * or if there is no follower. If the client is gone, the wait ends, but the reads continue,
   * because other clients may wait for the same reads.
   */
  read(
    state: StateView,
    subjects: readonly QuestionSubject[],
    { keyId, cancellation }: Requester,
    ageMsMax = this.ageMsMax,
  ): Promise<AccountReadResult> | undefined {
    const { follower } = this.#parts;
    if (follower === undefined || !state.isPartial) return undefined;
    const due = subjects.filter((subject) => this.#isDue(state, subject, ageMsMax));
    if (due.length === 0) return undefined;
    if (cancellation.refusal !== undefined) {
      return Promise.resolve({ upstreamAnswers: new UpstreamAnswers(), wasAsked: false });
    }
    const wants = due.map((subject) => follower.readItem(itemOf(state, subject), ageMsMax, keyId));
    return this.#awaitAll(wants, cancellation).then((outcomes) => ({
      upstreamAnswers: this.#gather(subjects, due, outcomes),
      wasAsked: findAsked(wants, outcomes),
    }));
  }

  /**
   * Returns true if the subject has to be read. The age is measured by this machine's clock, or by
   * the ledger's clock if the ledger's clock is ahead. So accounts also become too old while the
   * exchange writes no blocks.
   */
  #isDue(state: StateView, subject: QuestionSubject, ageMsMax: number): boolean {
    if (!isSubjectRecorded(state, subject)) return true;
    if (ageMsMax === Number.POSITIVE_INFINITY) return false;
    return this.#parts.live.nowMs() - subjectTime(state, subject) >= ageMsMax;
  }

  /**
   * Waits for the outcomes of the reads, and then until the replica has reached the heights of the
   * outcomes.
   */
  async #awaitAll(
    wants: readonly Promise<ItemOutcome>[],
    cancellation: Cancellation,
  ): Promise<readonly Outcome[]> {
    const { live, settings } = this.#parts;
    const deadlineMs = performance.now() + settings.followWait;
    const wait = new Wait(settings.followWait, cancellation);
    const outcomes = await Promise.all(wants.map((want) => Promise.race([want, wait.late])));
    wait.stop();
    const heights = outcomes.map(heightOf);
    const height = cancellation.refusal === undefined ? Math.max(...heights) : 0;
    await live.waitFor(height, Math.max(0, deadlineMs - performance.now()), cancellation);
    return outcomes;
  }

  #gather(
    subjects: readonly QuestionSubject[],
    due: readonly QuestionSubject[],
    outcomes: readonly Outcome[],
  ): UpstreamAnswers {
    const upstreamAnswers = new UpstreamAnswers();
    const { state } = this.#parts.live;
    if (state === undefined) return upstreamAnswers;
    for (const [index, subject] of due.entries()) {
      const outcome = outcomes[index];
      if (outcome !== LATE && outcome.outcome === 'upstream') {
        upstreamAnswers.noteAnswer(subject, outcome.answer, outcome.time);
      } else {
        const refusal = this.#findRefusal(state, subject, outcome);
        if (refusal !== undefined) upstreamAnswers.noteFailure(subject, refusal);
      }
    }
    for (const subject of subjects) {
      if (!isFromState(state, subject, upstreamAnswers) || isSubjectRecorded(state, subject))
        continue;
      upstreamAnswers.noteFailure(subject, refuseUnrecorded(state, subject));
    }
    return upstreamAnswers;
  }

  #findRefusal(
    state: StateView,
    subject: QuestionSubject,
    outcome: Exclude<Outcome, { outcome: 'upstream' }>,
  ): RequestError | undefined {
    const what = describeSubject(state, subject);
    if (outcome === LATE) {
      const message = `${what}: not read within ${this.#parts.settings.followWait} ms`;
      return new RequestError('upstream_failed', message);
    }
    if (outcome.outcome === 'failed') {
      return new RequestError('upstream_failed', `${what}: ${outcome.reason}`);
    }
    if (outcome.outcome === 'busy') {
      const message = `${what}: ${outcome.reason}`;
      return new RequestError('not_ready', message, undefined, outcome.retryAfterSeconds);
    }
    if (state.height >= outcome.height) return undefined;
    const message = `${what}: read into height ${outcome.height}, this replica is at ${state.height}`;
    return new RequestError('behind', message);
  }

  /**
   * Returns true if the ledger has all of the subjects, at any age. Always returns true without a
   * follower.
   */
  areSubjectsRecorded(state: StateView, subjects: readonly QuestionSubject[]): boolean {
    const isFollowed = this.#parts.follower !== undefined;
    return !isFollowed || subjects.every((subject) => isSubjectRecorded(state, subject));
  }

  /** Returns true if an answer about the subjects can be sent without reading a subject first. */
  isAnswerable(
    state: StateView,
    subjects: readonly QuestionSubject[],
    upstreamAnswers: UpstreamAnswers | undefined,
  ): boolean {
    if (this.#parts.follower === undefined) return true;
    return subjects.every(
      (subject) =>
        upstreamAnswers?.findAnswer(subject) !== undefined ||
        !this.#isDue(state, subject, this.ageMsMax),
    );
  }

  /** Sets the age of a partial ledger's answer, and whether the answer comes from the upstream. */
  setProvenance(
    reply: Provenance,
    state: StateView,
    subjects: readonly QuestionSubject[],
    upstreamAnswers: UpstreamAnswers | undefined,
  ): void {
    const held = subjects.filter((subject) => isFromState(state, subject, upstreamAnswers));
    const time = Math.min(
      oldestTime(state, held) ?? Number.POSITIVE_INFINITY,
      upstreamAnswers?.oldestAnswerTime ?? Number.POSITIVE_INFINITY,
    );
    if (time !== Number.POSITIVE_INFINITY) reply.accountTime = time;
    if (upstreamAnswers?.hasAnswers !== true) return;
    reply.isFromUpstream = true;
    reply.height = -1;
    reply.time = -1;
  }

  /**
   * Reports to the follower which subjects a key asks for, so that the follower continues to read
   * them.
   */
  noteInterest(state: StateView, subjects: readonly QuestionSubject[], keyId: string): void {
    const { follower } = this.#parts;
    if (follower === undefined) return;
    for (const subject of subjects) follower.noteInterest(itemOf(state, subject), keyId);
  }
}

/**
 * Returns true if the ledger has the subject. Time 0 means that the subject was never read, or that
 * the last answer about it could not be recorded.
 */
function isSubjectRecorded(state: StateView, subject: QuestionSubject): boolean {
  return isSubjectKnown(state, subject) && subjectTime(state, subject) > 0;
}

/** Returns the refusal for a subject whose record was removed while other subjects were read. */
function refuseUnrecorded(state: StateView, subject: QuestionSubject): RequestError {
  const what = describeSubject(state, subject);
  return new RequestError('not_ready', `${what}: not recorded any more, ask again`);
}

/** Returns true if the answer about the subject is computed from the state. */
function isFromState(
  state: StateView,
  subject: QuestionSubject,
  upstreamAnswers: UpstreamAnswers | undefined,
): boolean {
  if (upstreamAnswers?.findFailure(subject) !== undefined) return false;
  return upstreamAnswers?.findAnswer(subject) === undefined && isSubjectKnown(state, subject);
}

function itemOf({ markets }: StateView, subject: QuestionSubject): FollowedItem {
  const user = formatAddress(subject.user);
  if (subject.kind === 'delegations') return { kind: 'delegations', user };
  return { kind: 'account', user, dex: markets.dexes[subject.dexIndex].name };
}

/**
 * Returns the first height at which the ledger has the outcome; returns 0 if every height is
 * sufficient.
 */
function heightOf(outcome: Outcome): number {
  return outcome !== LATE && outcome.outcome === 'recorded' ? outcome.height : 0;
}

/**
 * Returns whether the exchange was asked at least once. If a read is late, returns a promise,
 * because the result is known only later.
 */
function findAsked(wants: readonly Promise<ItemOutcome>[], outcomes: readonly Outcome[]): WorkDone {
  if (outcomes.some((outcome) => outcome !== LATE && wasAsked(outcome))) return true;
  if (!outcomes.includes(LATE)) return false;
  return Promise.all(wants).then((known) => known.some(wasAsked));
}
