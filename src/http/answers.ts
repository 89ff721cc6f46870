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

/** What a reply needs to know of its connection. */
export interface Peer {
  /** Requests without a known key, path or method. */
  strangeRequests: number;
}

/** The weight of a refused question. */
const REFUSED_WEIGHT = 1;
/** Codes that a scanner gets again and again, an ordinary client only now and then. */
const STRANGE: ReadonlySet<string> = new Set(['unknown_key', 'not_found', 'method_not_allowed']);
/** Number of such refusals after which the connection is closed. A new connection costs more than many of them. */
const STRANGE_REQUESTS_MAX = 256;

/** A request whose key and question are known. */
interface AdmittedRequest {
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

  /** The reply to the head alone; undefined if the body decides. */
  answerHead(head: RequestHead, peer: Peer): Reply | undefined {
    const admitted = this.#admitHead(head, peer);
    return admitted instanceof Reply ? admitted : undefined;
  }

  /**
   * The reply to a whole request; a promise only while the ledger has yet to reach the minimum height.
   * `source` holds the question, unless it is in the head. A transport that renders the reply at once
   * says so, and gets an answer that is not copied out of the ring.
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
      return this.#answerAdmitted({ head, peer, key, question, minHeight, isRenderedAtOnce });
    } catch (error) {
      if (error instanceof RequestError) return this.#refuse(error, { peer, key, type });
      throw new AnswerFailure(error, { type, keyId: key.id });
    }
  }

  /** Refuses a request before its key is looked at. */
  refuseAnyone(refusal: RequestError, peer: Peer): Reply {
    return this.#refuse(refusal, { peer });
  }

  /** Refuses a request for a fault that its transport found; an unknown key comes first. */
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

  #answerAdmitted(request: AdmittedRequest): Reply | Promise<Reply> {
    const { live, settings } = this.#parts;
    const { key, question, minHeight } = request;
    const { state } = live;
    if (state !== undefined) question.validate(state);
    const shortage = this.#parts.admission.findShortage(key, question.weight);
    if (shortage !== undefined) return this.#refuseAdmitted(shortage, request);
    if (state === undefined || state.height >= minHeight) return this.#finish(request);
    return live.waitFor(minHeight, settings.minHeightWait).then(() => this.#finishLater(request));
  }

  /** During the wait the key may have been revoked, or its budget spent. */
  #finishLater(request: AdmittedRequest): Reply {
    const { head, peer, question } = request;
    const key = this.#admitHead(head, peer);
    if (key instanceof Reply) return key;
    const shortage = this.#parts.admission.findShortage(key, question.weight);
    if (shortage !== undefined) return this.#refuseAdmitted(shortage, { ...request, key });
    try {
      return this.#finish({ ...request, key, isRenderedAtOnce: false });
    } catch (error) {
      if (error instanceof RequestError) return this.#refuseAdmitted(error, { ...request, key });
      throw new AnswerFailure(error, { type: question.type, keyId: key.id });
    }
  }

  #finish(request: AdmittedRequest): Reply {
    const { minHeight } = request;
    const state = this.findState(minHeight);
    if (state instanceof RequestError) return this.#refuseAdmitted(state, request);
    const overload = this.#findOverload();
    if (overload !== undefined) return this.#refuseAdmitted(overload, request);
    return request.head.question === undefined
      ? this.#reply(request, state)
      : this.#replyToPoll(request, state);
  }

  #reply(request: AdmittedRequest, state: StateView): Reply {
    const answer = request.question.answer(state, this.#accounts);
    const reply = this.#chargedReply(200, request, state);
    reply.body = request.isRenderedAtOnce ? answer : answer.toString();
    return reply;
  }

  /** The answer, or a 304 if the client has it already. */
  #replyToPoll(request: AdmittedRequest, state: StateView): Reply {
    const { polled, ifNoneMatch } = request.head;
    if (polled.height === state.height && namesTag(ifNoneMatch, polled.tag)) {
      return this.#replyUnchanged(request, state);
    }
    const answer = request.question.answer(state, this.#accounts);
    polled.tag = typeof answer === 'string' ? answerTag(answer) : answer.tag;
    polled.height = state.height;
    if (namesTag(ifNoneMatch, polled.tag)) return this.#replyUnchanged(request, state);
    const reply = this.#chargedReply(200, request, state);
    reply.body = request.isRenderedAtOnce ? answer : answer.toString();
    reply.tag = polled.tag;
    return reply;
  }

  #replyUnchanged(request: AdmittedRequest, state: StateView): Reply {
    const reply = this.#chargedReply(304, request, state);
    reply.tag = request.head.polled.tag;
    return reply;
  }

  #chargedReply(
    status: number,
    { key, question }: AdmittedRequest,
    { height, time }: StateView,
  ): Reply {
    const reply = new Reply(status, question.type);
    reply.allowance = this.#parts.admission.charge(key, question.weight);
    reply.height = height;
    reply.time = time;
    return reply;
  }

  /** The state to answer from, or why there is none: not ready, below the minimum height, stale. */
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
   * The state that a subscription starts from, or why it is refused. Overload is no reason: clients
   * that reconnect all at once just wait until it passes.
   */
  admitSubscription(question: ParsedQuestion, key: Key): StateView | RequestError {
    const { live, admission } = this.#parts;
    if (live.state !== undefined) question.validate(live.state);
    return admission.findShortage(key, question.weight) ?? this.findState();
  }

  /**
   * Charges a refusal to the key's budget. Our own limits and failures are free, but not a wait for a
   * height that did not come: the client chose it, and it took up a place.
   */
  chargeRefusal(key: Key, { status, field }: RequestError): Allowance | undefined {
    const isOurs = (status === 429 || status >= 500) && field !== MIN_HEIGHT_HEADER;
    return this.#parts.admission.charge(key, isOurs ? 0 : REFUSED_WEIGHT);
  }

  #refuseAdmitted(refusal: RequestError, { peer, key, question }: AdmittedRequest): Reply {
    return this.#refuse(refusal, { peer, key, type: question.type });
  }

  #refuse(refusal: RequestError, { peer, key, type, allow }: Refused): Reply {
    const { code } = refusal;
    const reply = refusalReply(refusal, type);
    if (code === 'method_not_allowed') reply.allow = allow;
    if (key !== undefined) reply.allowance = this.chargeRefusal(key, refusal);
    // The rest of a body that is too large is not read.
    reply.isLast = code === 'body_too_large' || (STRANGE.has(code) && countStrange(peer));
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

/** Counts a strange request; true if the connection is to be closed. */
function countStrange(peer: Peer): boolean {
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

/** The reply to bytes that are not a valid request; it is the last on its connection. */
export function refuseBytes(refusal: RequestError, allow?: string): Reply {
  const reply = refusalReply(refusal);
  reply.allow = allow;
  reply.isLast = true;
  return reply;
}
