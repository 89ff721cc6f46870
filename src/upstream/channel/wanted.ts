/**
 * The port between answers and the follower of an exchange. A question about an account that a partial
 * ledger does not hold, or not recently enough, is handed to the follower, which reads the account from
 * the exchange and writes it to the ledger.
 */

import type { QuestionBody } from '../../info/question.ts';

/** An account or a list of delegations; addresses are in lower case. */
export type WantedItem =
  | { readonly kind: 'account'; readonly user: string; readonly dex: string }
  | { readonly kind: 'delegations'; readonly user: string };

/** The exchange could not be asked, or its answer could not be used. */
export interface WantFailed {
  readonly outcome: 'failed';
  readonly reason: string;
  /** The exchange was sent the question, and so has worked on it, or may have. */
  readonly isSent?: true;
}

/** The budget for questions to the exchange is spent, or no follower is connected. */
export interface WantBusy {
  readonly outcome: 'busy';
  readonly reason: string;
  readonly retryAfterSeconds: number;
  /** The exchange was sent the question: the budget is its own. */
  readonly isSent?: true;
}

export type WantedOutcome =
  /** The ledger holds it from this height on. */
  | { readonly outcome: 'recorded'; readonly height: number }
  /** Our rules do not reproduce the exchange's answer: it is not recorded, this is its JSON text. */
  | { readonly outcome: 'upstream'; readonly answer: string; readonly time: number }
  | WantFailed
  | WantBusy;

/** The exchange's answer, byte for byte: the follower has checked that it is JSON, and nobody else reads it. */
export interface ForwardAnswer {
  readonly outcome: 'answered';
  readonly bytes: Buffer;
  /** Of the list that it is; undefined if it is something else. */
  readonly rows: number | undefined;
}

/**
 * Why the exchange has refused the question. With a field, the follower has refused it for what the
 * exchange lists, and has not asked.
 */
interface ForwardRefused {
  readonly outcome: 'refused';
  readonly reason: string;
  readonly field?: string | undefined;
}

export type ForwardOutcome = ForwardAnswer | ForwardRefused | WantFailed | WantBusy;

/** Whether the exchange was sent the question, also if another key's read of it was shared. */
export function wasAsked(outcome: WantedOutcome | ForwardOutcome): boolean {
  if (outcome.outcome === 'refused') return outcome.field === undefined;
  return !('reason' in outcome) || outcome.isSent === true;
}

/** Ages in milliseconds; null if there is nothing that could have an age. */
export interface FollowAges {
  readonly marks: number | null;
  readonly markets: number | null;
  /** Since the last message of the push connection to the exchange. */
  readonly stream: number | null;
  readonly accountsMedian: number | null;
  readonly accountsMax: number | null;
}

export interface FollowStatus {
  /** The origin of the exchange's address; its path may hold a key. */
  readonly upstream: string;
  readonly isWell: boolean;
  /** Why it is not well; "" if it is. */
  readonly reason: string;
  readonly ages: FollowAges;
  /** Number of accounts and lists of delegations that are followed. */
  readonly followed: number;
  /** Weight per minute: the limit, and what is left of it now; null if there is no limit. */
  readonly budget: { readonly limit: number; readonly left: number } | null;
  /** Elements of the exchange's lists that cannot be used: how many, and the first; absent if none. */
  readonly skipped?: { readonly count: number; readonly first: readonly string[] };
  /** Subscriptions that the exchange does not take: how many, and some by name with the reason. */
  readonly leftOut: {
    readonly count: number;
    readonly named: readonly { readonly subscription: string; readonly reason: string }[];
  };
  readonly counters: {
    /** By field: figures of the exchange that our formulas do not give for the same rows. */
    readonly mismatches: Readonly<Record<string, number>>;
    /** By field: changes of an account that no trade, funding or mark explains. */
    readonly surprises: Readonly<Record<string, number>>;
  };
}

/** How often a key has asked for an item since the last batch. */
export interface Interest {
  readonly item: WantedItem;
  readonly count: number;
  readonly keyId: string;
}

/**
 * What the processes that answer see. Nothing here rejects. Everything is asked for a key, named by its
 * id and never by its secret: the follower shares its budget fairly between keys.
 */
export interface WantedClient {
  /**
   * Has an item read, unless it was read within `maxAgeMs` (Infinity: any age will do if the ledger
   * holds it). An item that the ledger holds with time 0 counts as never read.
   */
  want(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome>;
  /** Says that the item was asked for; batched, nothing waits for it. */
  noteInterest(item: WantedItem, keyId: string): void;
  forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome>;
  /** The follower's last report; undefined if none has come recently. */
  status(): FollowStatus | undefined;
  close(): Promise<void>;
}

/** What the follower implements. */
export interface WantedHandler {
  want(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome>;
  noteInterest(interests: readonly Interest[]): void;
  forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome>;
  status(): FollowStatus;
}

/** The follower's end, open to clients. */
export interface WantedServer {
  close(): Promise<void>;
}
