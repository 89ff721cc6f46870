/** What readers need of the upstream's client. */

import type { AskOptions, UpstreamQuestion } from './upstream/upstream.ts';
import type { UpstreamAnswer } from './upstream/upstream-answer.ts';

export interface Asker {
  /** Rejects with an UpstreamError if the upstream does not answer. */
  ask(question: UpstreamQuestion, options: AskOptions): Promise<unknown>;
}

/** For answers that may be given on as the upstream wrote them. */
export interface AnswerAsker extends Asker {
  askAnswer(question: UpstreamQuestion, options: AskOptions): Promise<UpstreamAnswer>;
}
