/**
 * What is subscribed to. However many connections subscribe to the same, it is computed and written
 * out once a height.
 */

import type { Question } from '../../info/request.ts';
import type { StateView } from '../../state/state.ts';
import { withoutTime } from '../answer-tag.ts';
import { createStateFormat, type FormatState } from './frames.ts';

/** How a question is answered at one height. */
export interface Look {
  /** The answer, apart from its time. */
  readonly content: string;
  readonly frame: Buffer;
}

export class Topic {
  readonly name: string;
  readonly #question: Question;
  readonly #format: FormatState;
  subscriberCount = 0;
  #look: Look | undefined;
  #height = -1;

  constructor(name: string, question: Question) {
    this.name = name;
    this.#question = question;
    this.#format = createStateFormat(question);
  }

  look(state: StateView): Look {
    if (this.#look !== undefined && this.#height === state.height) return this.#look;
    const answer = this.#question.answer(state);
    const frame = Buffer.from(this.#format(answer, state));
    const look = { content: withoutTime(answer), frame };
    // Kept for others only.
    this.#look = this.subscriberCount > 1 ? look : undefined;
    this.#height = state.height;
    return look;
  }
}

export class Topics {
  readonly #topics = new Map<string, Topic>();

  /** The topic of a question, with one subscriber more. */
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
