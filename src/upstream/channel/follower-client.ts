/**
 * The interface between the processes that answer questions and the follower of an exchange. If a
 * partial ledger does not have an account, or has only a stale version of it, the follower reads
 * the account from the exchange and writes it to the ledger.
 */

import type { QuestionBody } from '../../info/question.ts';
import type { RequestErrorCode } from '../../info/request-error.ts';

/**
 * An item that the follower can read: an account, or a list of delegations. Addresses are in lower
 * case.
 */
export type FollowedItem =
  | { readonly kind: 'account'; readonly user: string; readonly dex: string }
  | { readonly kind: 'delegations'; readonly user: string };

/** The exchange did not answer, or its answer could not be used. */
export interface FollowerFailed {
  readonly outcome: 'failed';
  readonly reason: string;
  /** True if the question was sent: the exchange may have worked on it. */
  readonly isSent?: true;
}

/** The budget for questions to the exchange is spent, or no follower is connected. */
export interface FollowerBusy {
  readonly outcome: 'busy';
  readonly reason: string;
  readonly retryAfterSeconds: number;
  /**
   * True if the question was sent, and the exchange refused it because our budget there is spent.
   */
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
 * The exchange's answer, byte for byte. The follower has checked that the bytes are JSON; the
 * processes that pass the bytes on do not parse them.
 */
export interface ForwardAnswer {
  readonly outcome: 'answered';
  readonly bytes: Buffer;
  /** The number of rows if the answer is a list; otherwise undefined. */
  readonly rows: number | undefined;
}

/**
 * A refused question, with the reason. Either the exchange has refused the question, or the
 * follower has refused it because a value is not in the exchange's lists.
 */
interface ForwardRefused {
  readonly outcome: 'refused';
  readonly reason: string;
  /** The field with the wrong value, if it is known. */
  readonly field?: string | undefined;
  /** The code of a refusal of another perpinfo. */
  readonly code?: RequestErrorCode | undefined;
  /** The question was sent: the exchange has refused it. */
  readonly isSent?: true;
}

export type ForwardOutcome = ForwardAnswer | ForwardRefused | FollowerFailed | FollowerBusy;

/**
 * Returns whether the question was sent to the exchange. This is also true if the question of
 * another key was sent, and its outcome was shared.
 */
export function wasAsked(outcome: ItemOutcome | ForwardOutcome): boolean {
  return !('reason' in outcome) || outcome.isSent === true;
}

/** Ages in milliseconds; null if no data of this kind was received. */
export interface FollowAges {
  /** The age of the oldest mark that a position needs. */
  readonly marks: number | null;
  /** The maximum possible age of the marks of markets without a position. */
  readonly otherMarks: number | null;
  readonly markets: number | null;
  /** The time since the last message of the push connection to the exchange. */
  readonly stream: number | null;
  readonly accountsMedian: number | null;
  readonly accountsMax: number | null;
}

export interface FollowStatus {
  /** The origin of the exchange's address. The path is left out, because it may contain a key. */
  readonly upstream: string;
  readonly isHealthy: boolean;
  /** The reason why the follower is not healthy; "" if it is healthy. */
  readonly reason: string;
  readonly ages: FollowAges;
  /** The number of accounts and lists of delegations that are followed. */
  readonly followed: number;
  /** The limit in weight per minute, and the weight that is left now; null if there is no limit. */
  readonly budget: { readonly limit: number; readonly left: number } | null;
  /**
   * Elements of the exchange's lists that cannot be used: their number, and the first few of them;
   * absent if all elements can be used.
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
     * By field: the number of figures of the exchange that differ from the results of our formulas
     * for the same rows.
     */
    readonly mismatches: Readonly<Record<string, number>>;
    /** By field: the number of changes of accounts that no trade, funding or mark explains. */
    readonly surprises: Readonly<Record<string, number>>;
  };
}

/** The number of times that a key has asked for an item since the last batch. */
export interface Interest {
  readonly item: FollowedItem;
  readonly count: number;
  readonly keyId: string;
}

/**
 * The methods for the processes that answer questions. No method rejects. Each request contains the
 * id of a key, never its secret: the follower shares its budget fairly between keys.
 */
export interface FollowerClient {
  /**
   * Reads an item from the exchange, unless it was read within `maxAgeMs`. If `maxAgeMs` is
   * Infinity, an item of any age in the ledger is accepted. An item with time 0 in the ledger
   * counts as never read.
   */
  readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome>;
  /**
   * Notes that a client asked for the item. Notes are sent in batches, and no caller waits for
   * them.
   */
  noteInterest(item: FollowedItem, keyId: string): void;
  forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome>;
  /** Returns the follower's last report; returns undefined if no report has arrived recently. */
  status(): FollowStatus | undefined;
  close(): Promise<void>;
}

/** The methods that the follower implements. */
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
