/**
 * The channel on NATS. The ledger's name is part of each subject:
 *
 *   perpinfo.NAME.wanted     requests, which the follower answers (see outcome-parts.ts)
 *   perpinfo.NAME.interest   batches of interest, which clients send to the follower
 *   perpinfo.NAME.follow     reports, which the follower sends to all clients
 */

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { QuestionBody } from '../../../info/question.ts';
import { connectNats, type NatsLink } from '../../../ledger/jetstream/nats.ts';
import type { NatsOptions } from '../../../ledger/jetstream/nats-client.ts';
import {
  ABSENT_MS_MAX,
  type FollowerChannel,
  IN_FLIGHT_MAX,
  OUTCOME_MS_MAX,
  REACH_AGAIN_MS,
} from '../channel-client.ts';
import {
  busy,
  type FollowerRequest,
  failed,
  handleRequest,
  itemRequest,
  parseChannelMessage,
  readForwardOutcome,
  readInterests,
  readItemOutcome,
  readRequest,
  type SentOutcome,
  splitOutcome,
} from '../channel-messages.ts';
import type {
  FollowedItem,
  FollowerHandler,
  FollowerServer,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from '../follower-client.ts';
import { StatusReport } from '../status-report.ts';
import { cutOutcome, OutcomeAssembler } from './outcome-parts.ts';

const REPORT_MS = 1_000;
/**
 * The maximum number of entries in one message. A message with this many entries is much smaller
 * than the maximum size of a NATS message.
 */
const INTERESTS_MAX = 1_000;

type ChannelSubject = 'wanted' | 'interest' | 'follow';

function channelSubject({ name }: NatsLink, subject: ChannelSubject): string {
  return `perpinfo.${name}.${subject}`;
}

/** An outcome whose form is not checked yet, and the bytes that followed the outcome, if any. */
interface ReceivedOutcome {
  readonly outcome: unknown;
  readonly bytes?: Buffer | undefined;
}

interface RequestMessage {
  string(): string;
  respond(data: Uint8Array): boolean;
}

class NatsChannel implements FollowerChannel {
  readonly #link: NatsLink;
  readonly #report = new StatusReport();

  constructor(link: NatsLink) {
    this.#link = link;
    link.connection.subscribe(channelSubject(link, 'follow'), {
      callback: (error, message) => {
        if (error === null) this.#report.take(parseChannelMessage(message.string()));
      },
    });
  }

  async readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    const { outcome } = await this.#ask(itemRequest(item, maxAgeMs, keyId));
    return readItemOutcome(outcome);
  }

  async forward(forward: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    const { outcome, bytes } = await this.#ask({ forward, keyId });
    return readForwardOutcome(outcome, bytes);
  }

  async #ask(request: FollowerRequest): Promise<ReceivedOutcome> {
    const text = JSON.stringify(request);
    const absentMs = performance.now() + ABSENT_MS_MAX;
    for (;;) {
      try {
        return await this.#askOnce(text);
      } catch (error) {
        if (performance.now() > absentMs) {
          return { outcome: busy(`no follower is connected: ${(error as Error).message}`) };
        }
        await sleep(REACH_AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  #askOnce(text: string): Promise<ReceivedOutcome> {
    return this.#link.untilInterrupted(this.#readParts(text));
  }

  async #readParts(text: string): Promise<ReceivedOutcome> {
    const { connection } = this.#link;
    const terms = { strategy: 'timer', maxWait: OUTCOME_MS_MAX, noMux: true } as const;
    const parts = new OutcomeAssembler();
    const subject = channelSubject(this.#link, 'wanted');
    for await (const { data } of await connection.requestMany(subject, text, terms)) {
      const complete = parts.take(data);
      if (complete !== undefined) return complete;
    }
    throw new Error(`no outcome within ${OUTCOME_MS_MAX} ms`);
  }

  sendInterest(interests: readonly Interest[]): void {
    if (!this.#link.isConnected) return;
    for (let start = 0; start < interests.length; start += INTERESTS_MAX) {
      const interest = interests.slice(start, start + INTERESTS_MAX);
      const subject = channelSubject(this.#link, 'interest');
      this.#link.connection.publish(subject, JSON.stringify({ interest }));
    }
  }

  status(): FollowStatus | undefined {
    return this.#report.read();
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

class NatsFollowerServer implements FollowerServer {
  readonly #link: NatsLink;
  readonly #handler: FollowerHandler;
  readonly #timer: NodeJS.Timeout;
  #inFlight = 0;

  constructor(link: NatsLink, handler: FollowerHandler) {
    this.#link = link;
    this.#handler = handler;
    link.connection.subscribe(channelSubject(link, 'wanted'), {
      callback: (error, message) => {
        if (error === null) void this.#answer(message);
      },
    });
    link.connection.subscribe(channelSubject(link, 'interest'), {
      callback: (error, message) => {
        if (error === null)
          handler.noteInterest(readInterests(parseChannelMessage(message.string())));
      },
    });
    this.#timer = setInterval(() => this.#sendReport(), REPORT_MS);
    this.#timer.unref();
    this.#sendReport();
  }

  async #answer(message: RequestMessage): Promise<void> {
    const request = readRequest(parseChannelMessage(message.string()));
    if (request === undefined) return;
    const isFull = this.#inFlight >= IN_FLIGHT_MAX;
    this.#inFlight++;
    const outcome = isFull
      ? busy('too many questions are in flight')
      : await handleRequest(this.#handler, request);
    await this.#respond(message, splitOutcome(outcome));
    this.#inFlight--;
  }

  async #respond(message: RequestMessage, sent: SentOutcome): Promise<void> {
    const bytesMax = this.#link.messageBytesMax;
    for (const part of cutOutcome(randomUUID(), sent, bytesMax)) {
      if (part.length > bytesMax) {
        const reason = `the answer is longer than ${bytesMax} bytes, the maximum size of a NATS message`;
        return this.#respond(message, { outcome: failed(reason) });
      }
      if (!this.#link.isConnected) return;
      message.respond(part);
      await nextTurn();
    }
  }

  #sendReport(): void {
    if (!this.#link.isConnected) return;
    const report = JSON.stringify({ status: this.#handler.status() });
    this.#link.connection.publish(channelSubject(this.#link, 'follow'), report);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#link.close();
  }
}

export async function openNatsChannel(options: NatsOptions): Promise<FollowerChannel> {
  return new NatsChannel(await connectNats(options));
}

export async function listenOnNats(
  options: NatsOptions,
  handler: FollowerHandler,
): Promise<FollowerServer> {
  return new NatsFollowerServer(await connectNats(options), handler);
}
