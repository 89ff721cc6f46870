/**
 * Accounts and delegations that a partial ledger does not hold, or not recently enough, are read by the
 * follower before a question about them is answered.
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
  type WantedClient,
  type WantedItem,
  type WantedOutcome,
  wasAsked,
} from '../../upstream/channel/wanted.ts';
import type { Reply } from '../message/reply.ts';
import type { HttpSettings } from '../settings.ts';
import { type Cancellation, LATE, type Requester, Wait } from './cancellation.ts';

export interface AccountReadsParts {
  readonly live: LiveState;
  /** The way to the follower; undefined if there is none. */
  readonly wanted?: WantedClient | undefined;
  readonly settings: Pick<HttpSettings, 'followWait' | 'maxAccountAge'>;
}

/** What a reply says about the position and the age of its answer. */
export type Provenance = Pick<Reply, 'height' | 'time' | 'accountTime' | 'isFromUpstream'>;

/** What was read for one question. */
export interface AskedReadings {
  readonly readings: UpstreamAnswers;
  /** Whether the exchange was asked for any of it. */
  readonly wasAsked: WorkDone;
}

type Outcome = WantedOutcome | typeof LATE;

export class AccountReads {
  readonly #parts: AccountReadsParts;

  constructor(parts: AccountReadsParts) {
    this.#parts = parts;
  }

  /** The maximum age of accounts, if a request names none. */
  get ageMsMax(): number {
    return this.#parts.settings.maxAccountAge || Number.POSITIVE_INFINITY;
  }

  /**
   * Reads for a key what has to be read; undefined if nothing has to, or nobody could read it. If the
   * client is gone the wait ends; the reads go on, and others may have asked for the same.
   */
  read(
    state: StateView,
    subjects: readonly QuestionSubject[],
    { keyId, cancellation }: Requester,
    ageMsMax = this.ageMsMax,
  ): Promise<AskedReadings> | undefined {
    const { wanted } = this.#parts;
    if (wanted === undefined || !state.isPartial) return undefined;
    const due = subjects.filter((subject) => this.#isDue(state, subject, ageMsMax));
    if (due.length === 0) return undefined;
    if (cancellation.refusal !== undefined) {
      return Promise.resolve({ readings: new UpstreamAnswers(), wasAsked: false });
    }
    const wants = due.map((subject) => wanted.want(itemOf(state, subject), ageMsMax, keyId));
    return this.#awaitAll(wants, cancellation).then((outcomes) => ({
      readings: this.#gather(subjects, due, outcomes),
      wasAsked: findAsked(wants, outcomes),
    }));
  }

  /**
   * Whether the subject has to be read. Ages are by this machine's clock, or the ledger's if that
   * is later; both go on while the exchange stands still.
   */
  #isDue(state: StateView, subject: QuestionSubject, ageMsMax: number): boolean {
    if (!isHeld(state, subject)) return true;
    if (ageMsMax === Number.POSITIVE_INFINITY) return false;
    return this.#parts.live.nowMs() - subjectTime(state, subject) >= ageMsMax;
  }

  /** Waits for the outcomes and for the heights in them. */
  async #awaitAll(
    wants: readonly Promise<WantedOutcome>[],
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
    const readings = new UpstreamAnswers();
    const { state } = this.#parts.live;
    if (state === undefined) return readings;
    for (const [index, subject] of due.entries()) {
      const outcome = outcomes[index];
      if (outcome !== LATE && outcome.outcome === 'upstream') {
        readings.noteAnswer(subject, outcome.answer, outcome.time);
      } else {
        const refusal = this.#findRefusal(state, subject, outcome);
        if (refusal !== undefined) readings.noteFailure(subject, refusal);
      }
    }
    for (const subject of subjects) {
      if (!isFromState(state, subject, readings) || isHeld(state, subject)) continue;
      readings.noteFailure(subject, refuseTakenBack(state, subject));
    }
    return readings;
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

  /** Whether the ledger holds all of them, at any age; always true without a follower. */
  areHeld(state: StateView, subjects: readonly QuestionSubject[]): boolean {
    const isFollowed = this.#parts.wanted !== undefined;
    return !isFollowed || subjects.every((subject) => isHeld(state, subject));
  }

  /** Whether an answer about them can be sent without reading any of them first. */
  isAnswerable(
    state: StateView,
    subjects: readonly QuestionSubject[],
    readings: UpstreamAnswers | undefined,
  ): boolean {
    if (this.#parts.wanted === undefined) return true;
    return subjects.every(
      (subject) =>
        readings?.findAnswer(subject) !== undefined || !this.#isDue(state, subject, this.ageMsMax),
    );
  }

  /** Sets how old an answer of a partial ledger is, and where it is from. */
  setProvenance(
    reply: Provenance,
    state: StateView,
    subjects: readonly QuestionSubject[],
    readings: UpstreamAnswers | undefined,
  ): void {
    const held = subjects.filter((subject) => isFromState(state, subject, readings));
    const time = Math.min(
      oldestTime(state, held) ?? Number.POSITIVE_INFINITY,
      readings?.oldestAnswerTime ?? Number.POSITIVE_INFINITY,
    );
    if (time !== Number.POSITIVE_INFINITY) reply.accountTime = time;
    if (readings?.hasAnswers !== true) return;
    reply.isFromUpstream = true;
    reply.height = -1;
    reply.time = -1;
  }

  /** Says to the follower what a key asks for, so that it goes on reading it. */
  noteInterest(state: StateView, subjects: readonly QuestionSubject[], keyId: string): void {
    const { wanted } = this.#parts;
    if (wanted === undefined) return;
    for (const subject of subjects) wanted.noteInterest(itemOf(state, subject), keyId);
  }
}

/** Time 0: never read, or the last answer could not be recorded. */
function isHeld(state: StateView, subject: QuestionSubject): boolean {
  return isSubjectKnown(state, subject) && subjectTime(state, subject) > 0;
}

/** While others were read, the exchange's answer about this one could not be recorded. */
function refuseTakenBack(state: StateView, subject: QuestionSubject): RequestError {
  const what = describeSubject(state, subject);
  return new RequestError('not_ready', `${what}: not recorded any more, ask again`);
}

/** True if the answer about the subject is computed from the state. */
function isFromState(
  state: StateView,
  subject: QuestionSubject,
  readings: UpstreamAnswers | undefined,
): boolean {
  if (readings?.findFailure(subject) !== undefined) return false;
  return readings?.findAnswer(subject) === undefined && isSubjectKnown(state, subject);
}

function itemOf({ markets }: StateView, subject: QuestionSubject): WantedItem {
  const user = formatAddress(subject.user);
  if (subject.kind === 'delegations') return { kind: 'delegations', user };
  return { kind: 'account', user, dex: markets.dexes[subject.dexIndex].name };
}

/** The height that the outcome can be answered from; 0 for any. */
function heightOf(outcome: Outcome): number {
  return outcome !== LATE && outcome.outcome === 'recorded' ? outcome.height : 0;
}

/** Whether the exchange was asked for any of them. */
function findAsked(
  wants: readonly Promise<WantedOutcome>[],
  outcomes: readonly Outcome[],
): WorkDone {
  if (outcomes.some((outcome) => outcome !== LATE && wasAsked(outcome))) return true;
  if (!outcomes.includes(LATE)) return false;
  return Promise.all(wants).then((known) => known.some(wasAsked));
}
