/** What readers need of the upstream's client. */

import type { QuestionBody } from '../../info/question.ts';
import type { AskOptions } from './upstream.ts';

export interface Asker {
  /** Rejects with an UpstreamError if the upstream does not answer. */
  ask(question: QuestionBody, options: AskOptions): Promise<unknown>;
}

/** An answer both as the upstream wrote it and as a JSON value. */
export interface AskedAnswer {
  readonly text: string;
  readonly json: unknown;
}

/** For answers that may be given on as the upstream wrote them. */
export interface AnswerAsker extends Asker {
  askAnswer(question: QuestionBody, options: AskOptions): Promise<AskedAnswer>;
}
