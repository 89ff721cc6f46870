/**
 * The interface between the processes that answer questions and the follower of an exchange. If a
 * partial ledger does not have an account, or has only a stale version of it, the follower reads
 * the account from the exchange and writes it to the ledger.
 */

import type { QuestionBody } from '../../info/question.ts';

/**
 * What the follower can read: an account, or a list of delegations. Addresses are in lower case.
 */
export type FollowedItem =
  | { readonly kind: 'account'; readonly user: string; readonly dex: string }
  | { readonly kind: 'delegations'; readonly user: string };

/** The exchange did not answer, or its answer could not be used. */
export interface FollowerFailed {
  readonly outcome: 'failed';
  readonly reason: string;
  /** The question was sent, so the exchange has worked on it, or may have. */
  readonly isSent?: true;
}

/** The budget for questions to the exchange is spent, or no follower is connected. */
export interface FollowerBusy {
  readonly outcome: 'busy';
  readonly reason: string;
  readonly retryAfterSeconds: number;
  /** The question was sent: the exchange refused it because our budget there is spent. */
  readonly isSent?: true;
}

export type ItemOutcome =
  /** The ledger has the item from this height on. */
  | { readonly outcome: 'recorded'; readonly height: number }
  /**
   * Our rules do not reproduce the exchange's answer. The answer is not recorded; `answer` is its
   * JSON text.
   */
  | { readonly outcome: 'upstream'; readonly answer: string; readonly time: number }
  | FollowerFailed
  | FollowerBusy;

/**
 * The exchange's answer, byte for byte. The follower has checked that the bytes are JSON; nobody
 * parses them.
 */
export interface ForwardAnswer {
  readonly outcome: 'answered';
  readonly bytes: Buffer;
  /** Number of rows, if the answer is a list; otherwise undefined. */
  readonly rows: number | undefined;
}

/**
 * A refused question, with the reason. The exchange has refused it, or the follower, because a value
 * is not in the exchange's lists.
 */
interface ForwardRefused {
  readonly outcome: 'refused';
  readonly reason: string;
  /** The field to blame, if it is known. */
  readonly field?: string | undefined;
  /** The question was sent: the exchange has refused it. */
  readonly isSent?: true;
}

export type ForwardOutcome = ForwardAnswer | ForwardRefused | FollowerFailed | FollowerBusy;

/**
 * Whether the question was sent to the exchange, also if another key's read of the item was shared.
 */
export function wasAsked(outcome: ItemOutcome | ForwardOutcome): boolean {
  return !('reason' in outcome) || outcome.isSent === true;
}

/** Ages in milliseconds; null if there is no data that could have an age. */
export interface FollowAges {
  /** Of the oldest mark that a position needs. */
  readonly marks: number | null;
  /** Of the oldest mark of a market without a position, at most. */
  readonly otherMarks: number | null;
  readonly markets: number | null;
  /** Time since the last message of the push connection to the exchange. */
  readonly stream: number | null;
  readonly accountsMedian: number | null;
  readonly accountsMax: number | null;
}

export interface FollowStatus {
  /** The origin of the exchange's address. The path is left out, because it may contain a key. */
  readonly upstream: string;
  readonly isHealthy: boolean;
  /** Why the follower is not healthy; "" if it is healthy. */
  readonly reason: string;
  readonly ages: FollowAges;
  /** Number of accounts and lists of delegations that are followed. */
  readonly followed: number;
  /** Weight per minute: the limit, and the weight that is left now; null if there is no limit. */
  readonly budget: { readonly limit: number; readonly left: number } | null;
  /**
   * Elements of the exchange's lists that cannot be used: their number, and the first of them;
   * absent if all can be used.
   */
  readonly skipped?: { readonly count: number; readonly first: readonly string[] };
  /**
   * Subscriptions that the exchange does not accept: their number, and some of them with the
   * reason.
   */
  readonly leftOut: {
    readonly count: number;
    readonly named: readonly { readonly subscription: string; readonly reason: string }[];
  };
  readonly counters: {
    /**
     * By field: how many figures of the exchange differ from those that our formulas give for the
     * same rows.
     */
    readonly mismatches: Readonly<Record<string, number>>;
    /** By field: how many changes of accounts no trade, funding or mark explains. */
    readonly surprises: Readonly<Record<string, number>>;
  };
}

/** How often a key has asked for an item since the last batch. */
export interface Interest {
  readonly item: FollowedItem;
  readonly count: number;
  readonly keyId: string;
}

/**
 * What the processes that answer questions call. No method rejects. Each request names a key by its
 * id, never by its secret: the follower shares its budget fairly between keys.
 */
export interface FollowerClient {
  /**
   * Reads an item from the exchange, unless it was read within `maxAgeMs`. With Infinity, any age
   * is accepted if the ledger has the item. An item that the ledger has with time 0 counts as never
   * read.
   */
  readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome>;
  /**
   * Notes that a client asked for the item. Notes are sent in batches, and no caller waits for
   * them.
   */
  noteInterest(item: FollowedItem, keyId: string): void;
  forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome>;
  /** The follower's last report; undefined if none has come recently. */
  status(): FollowStatus | undefined;
  close(): Promise<void>;
}

/** What the follower implements. */
export interface FollowerHandler {
  readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome>;
  noteInterest(interests: readonly Interest[]): void;
  forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome>;
  status(): FollowStatus;
}

/** The follower's side of the channel, which clients connect to. */
export interface FollowerServer {
  close(): Promise<void>;
}
