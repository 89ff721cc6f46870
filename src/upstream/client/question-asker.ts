/** The part of the upstream's client that readers use. */

import type { QuestionBody } from '../../info/question.ts';
import type { AskOptions } from './upstream.ts';

export interface QuestionAsker {
  /** Rejects with an UpstreamError if the upstream does not answer. */
  ask(question: QuestionBody, options: AskOptions): Promise<unknown>;
}

/** An answer: the text that the upstream sent, and its JSON value. */
export interface ParsedAnswer {
  readonly text: string;
  readonly json: unknown;
}

/** The part of the upstream's client for readers that may pass on the upstream's text unchanged. */
export interface AnswerAsker extends QuestionAsker {
  askAnswer(question: QuestionBody, options: AskOptions): Promise<ParsedAnswer>;
}
