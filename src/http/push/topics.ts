/**
 * Topics: questions whose answers are pushed. All subscriptions to the same question share one
 * topic. A topic can find out whether its state has changed without computing the answer. If
 * several subscriptions need the same state, the frame is cached, so that the answer is computed
 * only once.
 */

import type { StateQuestion } from '../../info/question.ts';
import type { QuestionSubject } from '../../info/question-subject.ts';
import type { Dependencies } from '../../info/question-type.ts';
import { RequestError } from '../../info/request-error.ts';
import type { UpstreamAnswers } from '../../info/upstream-answers.ts';
import { type AnswerWriter, fixedText } from '../../info/writing/answer-writer.ts';
import type { StateView } from '../../state/state.ts';
import type { AccountReads, Provenance } from '../answering/account-reads.ts';
import type { FrameWriter } from '../transport/websocket/frame-writer.ts';
import { CachedFrame } from './cached-frame.ts';
import { createStateFormat, type StateFormat } from './frames.ts';
import type { PushSchedule, Scheduled } from './schedule.ts';
import { type WatchableTopic, type WatchedRows, WatchedTopics } from './watched-topics.ts';

/**
 * If an account was read again without a change, its state is sent again after this time, with the
 * new age.
 */
const CONFIRMED_MS = 10_000;
/**
 * Greater than the number of CONFIRMED_MS periods at any time, so that two editions are never
 * equal.
 */
const EDITIONS_PER_ANSWER = 2 ** 32;

/**
 * Minimum number of subscriptions for which a frame is cached. With only two subscriptions, a
 * cached frame is rarely used before the height changes.
 */
const KEPT_FRAME_SUBSCRIPTIONS_MIN = 3;

export class Topic implements WatchableTopic {
  readonly name: string;
  readonly subscriptions = new Set<Scheduled>();
  /** The number of subscriptions of each key. The first key pays for the next read. */
  readonly #keys = new Map<string, number>();
  watched: WatchedRows | undefined;
  readonly #question: StateQuestion;
  readonly #reads: AccountReads;
  readonly #format: StateFormat;
  /**
   * The exchange's last answers about accounts that are not recorded, and the number of times that
   * new answers were stored.
   */
  #upstreamAnswers: UpstreamAnswers | undefined;
  #upstreamAnswersCount = 0;
  /**
   * The version of the state: the height of its last change and, on a partial ledger, an edition.
   */
  changedAt = 0;
  edition = 0;
  /**
   * The height at which the subscriptions of this topic were last marked. `Topics` sets this
   * height.
   */
  markedAt = 0;
  #provenance: Provenance | undefined;
  /** The cached frame; undefined if the topic has few subscriptions. */
  #frame: CachedFrame | undefined;

  constructor(name: string, question: StateQuestion, reads: AccountReads) {
    this.name = name;
    this.#question = question;
    this.#reads = reads;
    this.#format = createStateFormat(question);
  }

  join(subscription: Scheduled): void {
    const { keyId } = subscription.connection;
    this.subscriptions.add(subscription);
    this.#keys.set(keyId, (this.#keys.get(keyId) ?? 0) + 1);
  }

  leave(subscription: Scheduled): void {
    const { keyId } = subscription.connection;
    if (!this.subscriptions.delete(subscription)) return;
    const left = (this.#keys.get(keyId) ?? 0) - 1;
    if (left > 0) this.#keys.set(keyId, left);
    else this.#keys.delete(keyId);
  }

  /** The keys that have a subscription to this topic. */
  get keyIds(): Iterable<string> {
    return this.#keys.keys();
  }

  /**
   * Returns the key that pays for the next read of the topic's accounts, and moves the key to the
   * end. Keys take turns.
   */
  nextKeyId(): string | undefined {
    for (const [keyId, count] of this.#keys) {
      this.#keys.delete(keyId);
      this.#keys.set(keyId, count);
      return keyId;
    }
    return undefined;
  }

  subjects(state: StateView): readonly QuestionSubject[] {
    return this.#question.subjects(state);
  }

  dependencies(state: StateView): Dependencies | undefined {
    return this.#question.dependencies(state);
  }

  /** Stores new answers of the exchange. Returns true if there are answers to send. */
  takeUpstreamAnswers(upstreamAnswers: UpstreamAnswers): boolean {
    if (!upstreamAnswers.hasAnswers) return false;
    this.#upstreamAnswers = upstreamAnswers;
    this.#upstreamAnswersCount++;
    this.#frame?.forget();
    return true;
  }

  /** Updates the version of the state. Returns false if an account has to be read first. */
  updateVersion(state: StateView): boolean {
    if (state.isPartial && !this.#updatePartialVersion(state)) return false;
    this.changedAt = this.#question.changedAt(state);
    return true;
  }

  #updatePartialVersion(state: StateView): boolean {
    const subjects = this.subjects(state);
    // The recorded accounts are newer than the exchange's answers, which could not be recorded.
    if (this.#reads.areSubjectsRecorded(state, subjects)) this.#upstreamAnswers = undefined;
    if (!this.#reads.isAnswerable(state, subjects, this.#upstreamAnswers)) return false;
    const provenance = provenanceOf(state);
    this.#reads.setProvenance(provenance, state, subjects, this.#upstreamAnswers);
    this.#provenance = provenance;
    const upstreamAnswers = this.#upstreamAnswers === undefined ? 0 : this.#upstreamAnswersCount;
    const confirmed = Math.floor(provenance.accountTime / CONFIRMED_MS);
    this.edition = upstreamAnswers * EDITIONS_PER_ANSWER + confirmed;
    return true;
  }

  /**
   * Writes the state as a frame, after `updateVersion`. Returns false if the state is not known
   * yet.
   */
  write(frames: FrameWriter, state: StateView): boolean {
    const kept = this.#frame?.at(state.height);
    if (kept !== undefined) {
      frames.repeat(kept);
      return true;
    }
    frames.begin();
    try {
      this.#writePayload(frames, state);
    } catch (error) {
      frames.drop();
      // A dex was added, and the partial ledger does not have the user's account on that dex yet.
      if (error instanceof RequestError) return false;
      throw error;
    }
    frames.end();
    this.#keepLast(frames, state.height);
    return true;
  }

  #keepLast(frames: FrameWriter, height: number): void {
    if (this.subscriptions.size < KEPT_FRAME_SUBSCRIPTIONS_MIN) {
      this.#frame = undefined;
      return;
    }
    this.#frame ??= new CachedFrame();
    this.#frame.keep(frames.last(), height);
  }

  #writePayload({ out }: FrameWriter, state: StateView): void {
    const { before, isAnswerOpened, after } = this.#format;
    out.long(before);
    this.#question.write(out, state, this.#upstreamAnswers);
    if (isAnswerOpened) out.moveTo(out.length - 1);
    if (this.#provenance === undefined) writePosition(out, state);
    else out.long(after(this.#provenance));
  }
}

const HEIGHT_TEXT = fixedText(',"height":');
const TIME_TEXT = fixedText(',"time":');
const END_TEXT = fixedText('}}');
const POSITION_BYTES_MAX = 64;

/**
 * Writes the end of a frame that contains no answer of the upstream. The text is the same as from
 * `StateFormat.after`, but this function is faster.
 */
function writePosition(out: AnswerWriter, { height, time }: StateView): void {
  out.reserve(POSITION_BYTES_MAX);
  out.fixed(HEIGHT_TEXT);
  out.whole(height);
  out.fixed(TIME_TEXT);
  out.whole(time);
  out.fixed(END_TEXT);
}

function provenanceOf({ height, time }: StateView): Provenance {
  return { height, time, accountTime: -1, isFromUpstream: false };
}

export class Topics {
  readonly #topics = new Map<string, Topic>();
  readonly #watched: WatchedTopics<Topic>;
  readonly #reads: AccountReads;
  readonly #schedule: PushSchedule;

  constructor(reads: AccountReads, schedule: PushSchedule) {
    this.#reads = reads;
    this.#schedule = schedule;
    this.#watched = new WatchedTopics(() => schedule.markAll());
  }

  /** Returns the topic of a question. A new topic watches for changes after `state`. */
  open(name: string, question: StateQuestion, state: StateView): Topic {
    const known = this.#topics.get(name);
    if (known !== undefined) return known;
    const topic = new Topic(name, question, this.#reads);
    this.#topics.set(name, topic);
    this.#watched.add(topic, state);
    return topic;
  }

  leave(topic: Topic, subscription: Scheduled): void {
    topic.leave(subscription);
    if (topic.subscriptions.size > 0) return;
    this.#topics.delete(topic.name);
    this.#watched.delete(topic);
  }

  /** Called when blocks were applied. After this call, call `markChanged` until it returns true. */
  advance(state: StateView): void {
    this.#watched.advance(state);
  }

  /**
   * Marks the subscriptions that blocks may have changed, until `endMs`. Returns true if all these
   * subscriptions are marked.
   */
  markChanged({ height }: StateView, endMs: number): boolean {
    const isDone = this.#watched.search((topic) => {
      if (topic.markedAt === height) return;
      topic.markedAt = height;
      this.#mark(topic);
    }, endMs);
    // The waiting subscriptions are also marked while the search continues, because a long search
    // would delay the subscriptions of `markAll`.
    return this.#schedule.markWaiting(endMs) && isDone;
  }

  takeUpstreamAnswers(topic: Topic, upstreamAnswers: UpstreamAnswers): void {
    if (topic.takeUpstreamAnswers(upstreamAnswers)) this.#mark(topic);
  }

  #mark({ subscriptions }: Topic): void {
    for (const subscription of subscriptions) {
      if (!subscription.isMarked) this.#schedule.mark(subscription);
    }
  }

  all(): Iterable<Topic> {
    return this.#topics.values();
  }
}
