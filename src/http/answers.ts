/**
 * The one way to answer: from a request to its reply, refusals included. Transports read bytes, call
 * this, and render the reply; they have no rules of their own. Of several faults, the reply names the
 * first in this order: path, method, key, media type, size, JSON, question, budget, missing or stale
 * state, overload.
 */

import type { Logger } from 'pino';
import { type Admission, NO_KEY, UNKNOWN_KEY } from '../access/admission.ts';
import type { Allowance } from '../access/budgets.ts';
import type { Key } from '../access/keys.ts';
import type { Settings } from '../config/settings.ts';
import { RequestError } from '../info/request-error.ts';
import type { LiveState } from '../replica/live-state.ts';
import type { StateView } from '../state/state.ts';
import { AccountAnswers } from './account-answers.ts';
import { answerTag, namesTag } from './answer-tag.ts';
import type { Load, RequestCounters } from './counters.ts';
import type { ParsedQuestion, QuestionSource } from './question-source.ts';
import { Reply } from './reply.ts';
import { MIN_HEIGHT_HEADER, type RawHead, type RequestHead, readHead } from './request-head.ts';

export interface AnswersParts {
  readonly live: LiveState;
  readonly admission: Admission;
  readonly load: Load;
  readonly counters: RequestCounters;
  readonly log: Logger;
  readonly settings: Settings<'refuseStale' | 'minHeightWait' | 'overloadDelay' | 'bodyBytesMax'>;
}

/** Whoever asks, as far as a reply depends on it. */
export interface Peer {
  /** Requests without a known key, path or method. */
  strangeRequests: number;
}

/** What a question that was refused takes from its key's budget. */
const REFUSED_WEIGHT = 1;
/** A client of ours is refused with these now and then, a scanner again and again. */
const STRANGE: ReadonlySet<string> = new Set(['unknown_key', 'not_found', 'method_not_allowed']);
/** Number of such refusals after which the connection is closed. A new connection costs more than many of them. */
const STRANGE_REQUESTS_MAX = 256;

/** A request whose key and question are known. */
interface Asked {
  readonly head: RequestHead;
  readonly peer: Peer;
  readonly key: Key;
  readonly question: ParsedQuestion;
  readonly minHeight: number;
  readonly isRenderedAtOnce: boolean;
}

export class Answers {
  readonly #parts: AnswersParts;
  readonly #accounts = new AccountAnswers();

  constructor(parts: AnswersParts) {
    this.#parts = parts;
  }

  readHead(source: RawHead): RequestHead {
    return readHead(source, this.#parts.settings.bodyBytesMax);
  }

  /** What is answered to the head alone, before its body has come; undefined where that decides. */
  answerHead(head: RequestHead, peer: Peer): Reply | undefined {
    const admitted = this.#admitHead(head, peer);
    return admitted instanceof Reply ? admitted : undefined;
  }

  /**
   * What is answered to a whole request. A promise only where the ledger has yet to reach the height
   * that was asked for. The source is where the question is, unless it was in the head. A transport
   * that renders the reply at once may be given an answer that is not copied out of the ring.
   */
  answer(
    head: RequestHead,
    peer: Peer,
    source?: QuestionSource,
    { isRenderedAtOnce = false } = {},
  ): Reply | Promise<Reply> {
    const key = this.#admitHead(head, peer);
    if (key instanceof Reply) return key;
    let type: string | undefined;
    try {
      const question = head.question ?? source?.read();
      if (question === undefined) throw new Error('a request without a question');
      if (question instanceof RequestError) return this.#refuse(question, { peer, key });
      type = question.type;
      const { minHeight } = head;
      if (typeof minHeight !== 'number') return this.#refuse(minHeight, { peer, key, type });
      return this.#answerAsked({ head, peer, key, question, minHeight, isRenderedAtOnce });
    } catch (error) {
      if (error instanceof RequestError) return this.#refuse(error, { peer, key, type });
      throw new AnswerFailure(error, { type, keyId: key.id });
    }
  }

  /** Refuses a request for what is wrong with it whoever sends it. */
  refuseAnyone(refusal: RequestError, peer: Peer): Reply {
    return this.#refuse(refusal, { peer });
  }

  /** Refuses a request for what its transport found wrong with it, unless its key is. */
  refuse(refusal: RequestError, head: RequestHead, peer: Peer): Reply {
    const key = this.#admitHead(head, peer);
    return key instanceof Reply ? key : this.#refuse(refusal, { peer, key });
  }

  /** Counts and logs a bug of ours; the transport then ends the connection. */
  reportFailure(error: unknown): void {
    this.#parts.counters.countFailure();
    this.#parts.log.error(describeFailure(error), 'a request failed');
  }

  #admitHead(head: RequestHead, peer: Peer): Key | Reply {
    if (head.routeRefusal !== undefined)
      return this.#refuse(head.routeRefusal, { peer, allow: head.allow });
    if (head.method === 'OPTIONS') return replyToPreflight(head);
    if (head.secretHash === '') return this.#refuse(NO_KEY, { peer });
    const key = this.#parts.admission.findKey(head.secretHash);
    if (key === undefined) return this.#refuse(UNKNOWN_KEY, { peer });
    if (head.headRefusal === undefined) return key;
    return this.#refuse(head.headRefusal, { peer, key });
  }

  #answerAsked(asked: Asked): Reply | Promise<Reply> {
    const { live, settings } = this.#parts;
    const { key, question, minHeight } = asked;
    const { state } = live;
    if (state !== undefined) question.validate(state);
    const shortage = this.#parts.admission.findShortage(key, question.weight);
    if (shortage !== undefined) return this.#refuseAsked(shortage, asked);
    if (state === undefined || state.height >= minHeight) return this.#finish(asked);
    return live.waitFor(minHeight, settings.minHeightWait).then(() => this.#finishLater(asked));
  }

  /** Meanwhile the key may have been revoked, or spent on other questions. */
  #finishLater(asked: Asked): Reply {
    const { head, peer, question } = asked;
    const key = this.#admitHead(head, peer);
    if (key instanceof Reply) return key;
    const shortage = this.#parts.admission.findShortage(key, question.weight);
    if (shortage !== undefined) return this.#refuseAsked(shortage, { ...asked, key });
    try {
      return this.#finish({ ...asked, key, isRenderedAtOnce: false });
    } catch (error) {
      if (error instanceof RequestError) return this.#refuseAsked(error, { ...asked, key });
      throw new AnswerFailure(error, { type: question.type, keyId: key.id });
    }
  }

  #finish(asked: Asked): Reply {
    const { minHeight } = asked;
    const state = this.findState(minHeight);
    if (state instanceof RequestError) return this.#refuseAsked(state, asked);
    const overload = this.#findOverload();
    if (overload !== undefined) return this.#refuseAsked(overload, asked);
    return asked.head.question === undefined
      ? this.#reply(asked, state)
      : this.#replyToPoll(asked, state);
  }

  #reply(asked: Asked, state: StateView): Reply {
    const answer = asked.question.answer(state, this.#accounts);
    const reply = this.#chargedReply(200, asked, state);
    reply.body = asked.isRenderedAtOnce ? answer : answer.toString();
    return reply;
  }

  /** The answer, or only that it is still the one that the client has. */
  #replyToPoll(asked: Asked, state: StateView): Reply {
    const { polled, ifNoneMatch } = asked.head;
    if (polled.height === state.height && namesTag(ifNoneMatch, polled.tag)) {
      return this.#replyUnchanged(asked, state);
    }
    const answer = asked.question.answer(state, this.#accounts);
    polled.tag = typeof answer === 'string' ? answerTag(answer) : answer.tag;
    polled.height = state.height;
    if (namesTag(ifNoneMatch, polled.tag)) return this.#replyUnchanged(asked, state);
    const reply = this.#chargedReply(200, asked, state);
    reply.body = asked.isRenderedAtOnce ? answer : answer.toString();
    reply.tag = polled.tag;
    return reply;
  }

  #replyUnchanged(asked: Asked, state: StateView): Reply {
    const reply = this.#chargedReply(304, asked, state);
    reply.tag = asked.head.polled.tag;
    return reply;
  }

  #chargedReply(status: number, { key, question }: Asked, { height, time }: StateView): Reply {
    const reply = new Reply(status, question.type);
    reply.allowance = this.#parts.admission.charge(key, question.weight);
    reply.height = height;
    reply.time = time;
    return reply;
  }

  /** The state to answer from, if it is there, as far as asked and fresh enough; or why not. */
  findState(minHeight = 0): StateView | RequestError {
    const { live, settings } = this.#parts;
    const { state } = live;
    if (state === undefined) return new RequestError('not_ready', live.unavailableReason);
    if (state.height < minHeight) {
      const message = `${MIN_HEIGHT_HEADER}: got ${minHeight}, the ledger is at height ${state.height}`;
      return new RequestError('behind', message, MIN_HEIGHT_HEADER);
    }
    const stale = settings.refuseStale ? live.findStaleness(Date.now()) : undefined;
    return stale === undefined ? state : new RequestError('behind', stale.message);
  }

  #findOverload(): RequestError | undefined {
    const { settings, load } = this.#parts;
    if (!load.isOverloaded) return undefined;
    const delay = Math.round(load.delayMs);
    const message = `requests wait ${delay} ms here, more than ${settings.overloadDelay} ms`;
    return new RequestError('overloaded', message);
  }

  /**
   * The state that a subscription starts from, or why there is none. Load does not count: when many
   * clients reconnect at once they only wait, and the load passes.
   */
  admitSubscription(question: ParsedQuestion, key: Key): StateView | RequestError {
    const { live, admission } = this.#parts;
    if (live.state !== undefined) question.validate(live.state);
    return admission.findShortage(key, question.weight) ?? this.findState();
  }

  /**
   * Takes from the budget what a refusal costs. What is our own limit or failure costs nothing; to wait
   * for a height that does not come is the client's choice, and takes up a place meanwhile.
   */
  chargeRefusal(key: Key, { status, field }: RequestError): Allowance | undefined {
    const isOurs = (status === 429 || status >= 500) && field !== MIN_HEIGHT_HEADER;
    return this.#parts.admission.charge(key, isOurs ? 0 : REFUSED_WEIGHT);
  }

  #refuseAsked(refusal: RequestError, { peer, key, question }: Asked): Reply {
    return this.#refuse(refusal, { peer, key, type: question.type });
  }

  #refuse(refusal: RequestError, { peer, key, type, allow }: Refused): Reply {
    const { code } = refusal;
    const reply = refusalReply(refusal, type);
    if (code === 'method_not_allowed') reply.allow = allow;
    if (key !== undefined) reply.allowance = this.chargeRefusal(key, refusal);
    // What is left of a body that is too large is not read.
    reply.isLast = code === 'body_too_large' || (STRANGE.has(code) && isOneTooMany(peer));
    const state = code === 'behind' ? this.#parts.live.state : undefined;
    if (state !== undefined) {
      reply.height = state.height;
      reply.time = state.time;
    }
    return reply;
  }
}

/** A bug of ours that came up while a question was answered, and which question that was. */
class AnswerFailure extends Error {
  readonly about: { readonly type: string | undefined; readonly keyId: string };

  constructor(cause: unknown, about: AnswerFailure['about']) {
    super('a question could not be answered', { cause });
    this.name = 'AnswerFailure';
    this.about = about;
  }
}

/** A failure for the log: the error, with the type and the key's id where they are known. */
export function describeFailure(error: unknown): Readonly<Record<string, unknown>> {
  return error instanceof AnswerFailure ? { err: error.cause, ...error.about } : { err: error };
}

/** What is known of a request that is refused. */
interface Refused {
  readonly peer: Peer;
  readonly allow?: string;
  readonly key?: Key;
  readonly type?: string | undefined;
}

function isOneTooMany(peer: Peer): boolean {
  peer.strangeRequests++;
  return peer.strangeRequests === STRANGE_REQUESTS_MAX;
}

function replyToPreflight({ allow }: RequestHead): Reply {
  const reply = new Reply(204);
  reply.allow = allow;
  return reply;
}

function refusalReply(refusal: RequestError, type?: string): Reply {
  const reply = new Reply(refusal.status, type);
  reply.refusal = refusal;
  reply.body = refusal.toJson();
  return reply;
}

/** The last reply on a connection whose bytes were no request, or not one that is taken. */
export function refuseBytes(refusal: RequestError, allow?: string): Reply {
  const reply = refusalReply(refusal);
  reply.allow = allow;
  reply.isLast = true;
  return reply;
}
