/** A channel that opens at its first use: only a partial ledger needs a channel. */

import type { QuestionBody } from '../../info/question.ts';
import type { WantedChannel } from './port-client.ts';
import type {
  FollowStatus,
  ForwardOutcome,
  Interest,
  WantBusy,
  WantedItem,
  WantedOutcome,
} from './wanted.ts';
import { busy } from './wanted-messages.ts';

export class LazyChannel implements WantedChannel {
  readonly #open: () => Promise<WantedChannel>;
  #opening: Promise<WantedChannel | WantBusy> | undefined;
  #channel: WantedChannel | undefined;

  constructor(open: () => Promise<WantedChannel>) {
    this.#open = open;
  }

  async want(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome> {
    const channel = await this.#get();
    return 'outcome' in channel ? channel : channel.want(item, maxAgeMs, keyId);
  }

  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    const channel = await this.#get();
    return 'outcome' in channel ? channel : channel.forward(question, keyId);
  }

  /** Makes one attempt at a time. After a failure, the next call tries again. */
  #get(): Promise<WantedChannel | WantBusy> {
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
