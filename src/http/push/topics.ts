/**
 * The topics of subscriptions. A topic's state is computed and rendered once per height, however many
 * connections subscribe to it.
 */

import type { Question } from '../../info/request.ts';
import type { StateView } from '../../state/state.ts';
import { withoutTime } from '../answer-tag.ts';
import { createStateFormat, type FormatState } from './frames.ts';

/** The answer to a question at one height, ready to be sent. */
export interface RenderedState {
  /** The answer, apart from its time. */
  readonly content: string;
  readonly frame: Buffer;
}

export class Topic {
  readonly name: string;
  readonly #question: Question;
  readonly #format: FormatState;
  subscriberCount = 0;
  #rendered: RenderedState | undefined;
  #height = -1;

  constructor(name: string, question: Question) {
    this.name = name;
    this.#question = question;
    this.#format = createStateFormat(question);
  }

  render(state: StateView): RenderedState {
    if (this.#rendered !== undefined && this.#height === state.height) return this.#rendered;
    const answer = this.#question.answer(state);
    const frame = Buffer.from(this.#format(answer, state));
    const rendered = { content: withoutTime(answer), frame };
    // Only other subscribers would need it again.
    this.#rendered = this.subscriberCount > 1 ? rendered : undefined;
    this.#height = state.height;
    return rendered;
  }
}

export class Topics {
  readonly #topics = new Map<string, Topic>();

  /** Adds a subscriber to the topic of a question. */
  join(name: string, question: Question): Topic {
    const topic = this.#topics.get(name) ?? new Topic(name, question);
    this.#topics.set(name, topic);
    topic.subscriberCount++;
    return topic;
  }

  leave(topic: Topic): void {
    topic.subscriberCount--;
    if (topic.subscriberCount === 0) this.#topics.delete(topic.name);
  }
}
