/**
 * One subscription of one push connection: sends a topic's state when it has changed. The frames that
 * subscribe and unsubscribe are handled in connection.ts.
 */

import type { StateView } from '../../state/state.ts';
import type { Scheduled } from './schedule.ts';
import type { RenderedState, Topic } from './topics.ts';

/** The connection that a subscription belongs to. */
export interface Subscriber {
  readonly outbox: { readonly hasUnread: boolean };
  sendState(frame: Buffer): void;
  /** Called with a subscription whose state cannot be sent before the client has read more. */
  noteMissed(subscription: Subscription): void;
  /** Called with a bug of ours. */
  fail(error: unknown): void;
}

export class Subscription implements Scheduled {
  readonly topic: Topic;
  readonly #subscriber: Subscriber;
  /** The content that was sent last, apart from its time. */
  #content: string | undefined;
  dueMs = 0;

  constructor(topic: Topic, subscriber: Subscriber) {
    this.topic = topic;
    this.#subscriber = subscriber;
  }

  deliver(state: StateView): boolean {
    // The first state follows the acknowledgement at once, even if other bytes are unread.
    if (this.#content !== undefined && this.#subscriber.outbox.hasUnread) {
      this.#subscriber.noteMissed(this);
      return true;
    }
    const rendered = this.#render(state);
    if (rendered === undefined || rendered.content === this.#content) return false;
    this.#content = rendered.content;
    this.#subscriber.sendState(rendered.frame);
    return true;
  }

  #render(state: StateView): RenderedState | undefined {
    try {
      return this.topic.render(state);
    } catch (error) {
      this.#subscriber.fail(error);
      return undefined;
    }
  }
}
