/** The head of a request, with the question in its query string. */

import type { Question } from '../../info/question.ts';
import type { RequestError } from '../../info/request-error.ts';
import {
  type HeadLimits,
  type RawHead,
  type RequestHead,
  readHead,
} from '../message/request-head.ts';
import { queryOf } from '../message/router.ts';
import { type LongQuery, QuerySource } from './question-source.ts';

export interface QuestionHead extends RequestHead {
  /** Undefined if the question is in the body. */
  readonly question: Question | RequestError | LongQuery | undefined;
}

export interface QuestionHeadOptions extends HeadLimits {
  /** True if some questions are forwarded to the exchange. */
  readonly forwards: boolean;
}

export function readQuestionHead(source: RawHead, terms: QuestionHeadOptions): QuestionHead {
  const head = readHead(source, terms);
  const { route, method } = head;
  const isQuery = route?.name === 'info' && (method === 'GET' || method === 'HEAD');
  if (!isQuery) return withQuestion(head, undefined);
  const query = new QuerySource(Buffer.from(queryOf(source.target)));
  return withQuestion(head, query.readIfShort(terms.forwards));
}

/**
 * Returns the same head with another question. All members are listed, because a spread takes
 * several times as long.
 */
export function withQuestion(head: RequestHead, question: QuestionHead['question']): QuestionHead {
  return {
    method: head.method,
    route: head.route,
    allow: head.allow,
    secretHash: head.secretHash,
    routeRefusal: head.routeRefusal,
    headRefusal: head.headRefusal,
    freshnessRefusal: head.freshnessRefusal,
    minHeight: head.minHeight,
    accountAgeMsMax: head.accountAgeMsMax,
    ifNoneMatch: head.ifNoneMatch,
    wantsCsv: head.wantsCsv,
    question,
  };
}

/** Returns the head of a post on a push connection, which has no HTTP head. */
export function headOfPost(secretHash: string): QuestionHead {
  return {
    method: 'POST',
    route: { name: 'info', secret: '' },
    allow: '',
    secretHash,
    routeRefusal: undefined,
    headRefusal: undefined,
    freshnessRefusal: undefined,
    minHeight: 0,
    accountAgeMsMax: undefined,
    ifNoneMatch: undefined,
    wantsCsv: false,
    question: undefined,
  };
}
