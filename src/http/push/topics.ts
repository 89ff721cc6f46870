/**
 * The topics of subscriptions: questions whose answers are pushed. Whether a topic's state has changed
 * is known without answering; the frame of a state is written once, however many subscribe to it.
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

/** An account that was read again unchanged is sent again when this much time has passed. */
const CONFIRMED_MS = 10_000;
/** More than the number of CONFIRMED_MS periods, so that editions never collide. */
const EDITIONS_PER_ANSWER = 2 ** 32;

/** Minimum subscriptions to cache a frame: with two, it is rarely reused at its height. */
const KEPT_FRAME_SUBSCRIPTIONS_MIN = 3;

export class Topic implements WatchableTopic {
  readonly name: string;
  readonly subscriptions = new Set<Scheduled>();
  /** Number of subscriptions by key, the key whose turn it is to have it read first. */
  readonly #keys = new Map<string, number>();
  watched: WatchedRows | undefined;
  readonly #question: StateQuestion;
  readonly #reads: AccountReads;
  readonly #format: StateFormat;
  /** The exchange's own answers about accounts that are not recorded, and how many were taken. */
  #upstreamAnswers: UpstreamAnswers | undefined;
  #upstreamAnswersCount = 0;
  /** Which state it is: the height since which it has been the same, and on a partial ledger an edition. */
  changedAt = 0;
  edition = 0;
  /** The height at which its subscriptions were last marked by themselves; for Topics. */
  markedAt = 0;
  #provenance: Provenance | undefined;
  /** Undefined unless many subscribe to it. */
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

  /** The keys that subscribe to it. */
  get keyIds(): Iterable<string> {
    return this.#keys.keys();
  }

  /** The key for which it is read this time: each has its turn. */
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

  /** Takes what was read for it; true if that is something to send. */
  takeUpstreamAnswers(upstreamAnswers: UpstreamAnswers): boolean {
    if (!upstreamAnswers.hasAnswers) return false;
    this.#upstreamAnswers = upstreamAnswers;
    this.#upstreamAnswersCount++;
    this.#frame?.forget();
    return true;
  }

  /** Finds out which state it is now; false while an account has to be read first. */
  look(state: StateView): boolean {
    if (state.isPartial && !this.#lookPartial(state)) return false;
    this.changedAt = this.#question.changedAt(state);
    return true;
  }

  #lookPartial(state: StateView): boolean {
    const subjects = this.subjects(state);
    // What is recorded is newer than the answer that was not.
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

  /** Writes the state as a frame, after `look`; false if it is not known yet. */
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
      // A new dex, on which a partial ledger does not know the user's account yet.
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

/** As a format's `after` has it, for an answer from the state alone. */
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

  /** The topic of a question, from this state on. */
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

  /** Blocks were applied: `markChanged` is to be called until it is done. */
  advance(state: StateView): void {
    this.#watched.advance(state);
  }

  /** Marks what blocks may have changed, until the time is up; true if all of it is marked. */
  markChanged({ height }: StateView, endMs: number): boolean {
    const isDone = this.#watched.search((topic) => {
      if (topic.markedAt === height) return;
      topic.markedAt = height;
      this.#mark(topic);
    }, endMs);
    // Even during a search: a long one would otherwise delay those marked by `markAll`.
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
