/** A channel that opens at its first use: only a partial ledger needs a channel. */

import type { QuestionBody } from '../../info/question.ts';
import type { FollowerChannel } from './channel-client.ts';
import { busy } from './channel-messages.ts';
import type {
  FollowedItem,
  FollowerBusy,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from './follower-client.ts';

export class LazyChannel implements FollowerChannel {
  readonly #open: () => Promise<FollowerChannel>;
  #opening: Promise<FollowerChannel | FollowerBusy> | undefined;
  #channel: FollowerChannel | undefined;

  constructor(open: () => Promise<FollowerChannel>) {
    this.#open = open;
  }

  async readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    const channel = await this.#get();
    return 'outcome' in channel ? channel : channel.readItem(item, maxAgeMs, keyId);
  }

  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    const channel = await this.#get();
    return 'outcome' in channel ? channel : channel.forward(question, keyId);
  }

  /**
   * Makes one attempt at a time to open the channel. After a failed attempt, the next call tries
   * again.
   */
  #get(): Promise<FollowerChannel | FollowerBusy> {
    this.#opening ??= this.#open().then(
      (channel) => {
        this.#channel = channel;
        return channel;
      },
      (error: Error) => {
        this.#opening = undefined;
        return busy(`the follower cannot be reached: ${error.message}`);
      },
    );
    return this.#opening;
  }

  sendInterest(interests: readonly Interest[]): void {
    if (this.#channel === undefined) void this.#get();
    else this.#channel.sendInterest(interests);
  }

  status(): FollowStatus | undefined {
    if (this.#channel === undefined) void this.#get();
    return this.#channel?.status();
  }

  async close(): Promise<void> {
    await this.#opening;
    await this.#channel?.close();
  }
}
