/**
 * One subscription of one push connection: sends a topic's state when it is another one than was sent
 * last. The frames that subscribe and unsubscribe are handled in connection-subscriptions.ts.
 */

import type { StateView } from '../../state/state.ts';
import type { FrameWriter } from '../transport/websocket/frame-writer.ts';
import type { LinkedList } from './linked-list.ts';
import type { Scheduled, ScheduledConnection } from './schedule.ts';
import type { Topic } from './topics.ts';

const NOTHING_SENT = -1;

export class Subscription implements Scheduled {
  readonly topic: Topic;
  readonly connection: ScheduledConnection;
  list: LinkedList<Scheduled> | undefined;
  previous: Scheduled | undefined;
  next: Scheduled | undefined;
  dueMs = 0;
  isResting = false;
  isMarked = false;
  allMarksSeen = 0;
  /** Which of the topic's states was sent last. */
  #changedAt = NOTHING_SENT;
  #edition = 0;

  constructor(topic: Topic, connection: ScheduledConnection) {
    this.topic = topic;
    this.connection = connection;
  }

  /** Writes a frame if there is something new; false if not. */
  write(frames: FrameWriter, state: StateView): boolean {
    const { topic } = this;
    if (!topic.look(state)) return false;
    const { changedAt, edition } = topic;
    if (changedAt === this.#changedAt && edition === this.#edition) return false;
    if (!topic.write(frames, state)) return false;
    this.#changedAt = changedAt;
    this.#edition = edition;
    return true;
  }
}
