/**
 * One subscription of one push connection. It writes the topic's state if the state's version
 * differs from the version that was sent last. connection-subscriptions.ts handles the frames that
 * subscribe and unsubscribe.
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
  /**
   * The version of the topic's state that was sent last: `changedAt` and `edition` of the topic.
   */
  #changedAt = NOTHING_SENT;
  #edition = 0;

  constructor(topic: Topic, connection: ScheduledConnection) {
    this.topic = topic;
    this.connection = connection;
  }

  /** Writes a frame if the state has changed. Returns false if no frame was written. */
  write(frames: FrameWriter, state: StateView): boolean {
    const { topic } = this;
    if (!topic.updateVersion(state)) return false;
    const { changedAt, edition } = topic;
    if (changedAt === this.#changedAt && edition === this.#edition) return false;
    if (!topic.write(frames, state)) return false;
    this.#changedAt = changedAt;
    this.#edition = edition;
    return true;
  }
}
