/**
 * The messages of the channel, and the checks of their form. The checks are needed because on NATS,
 * every client with permission to publish can send anything.
 *
 *   request   {"want": item, "maxAgeMs": 1000, "keyId": "4f1d22a0c9"} (without maxAgeMs: any age)
 *   request   {"forward": question, "keyId": "4f1d22a0c9"}
 *   interest  {"interest": [{"item": item, "count": 3, "keyId": "4f1d22a0c9"}, ...]}
 *   reply     {"outcome": ...}
 *   report    {"status": ...}, from the follower to all clients
 *
 * The bytes of an exchange's answer are not part of the JSON. They follow the JSON unchanged, in a
 * form that each channel defines.
 */

import { isJsonObject, type JsonObject } from '../../events/fields.ts';
import { parseAddress } from '../../exact/address.ts';
import type { QuestionBody } from '../../info/question.ts';
import { readErrorCode } from '../../info/request-error.ts';
import type {
  FollowAges,
  FollowedItem,
  FollowerBusy,
  FollowerFailed,
  FollowerHandler,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from './follower-client.ts';

export type FollowerRequest =
  | { readonly want: FollowedItem; readonly maxAgeMs?: number; readonly keyId: string }
  | { readonly forward: QuestionBody; readonly keyId: string };

/** The value of Retry-After, in seconds, if no better value is known. */
const RETRY_SECONDS = 1;
/** The maximum length of a key id in a message. No real key id is this long. */
const KEY_ID_LENGTH_MAX = 64;
/** The key id of all requests without a key id, for example requests of an earlier version. */
const UNNAMED_KEY = '';

export function itemRequest(want: FollowedItem, maxAgeMs: number, keyId: string): FollowerRequest {
  const request = { want, keyId };
  return maxAgeMs === Number.POSITIVE_INFINITY ? request : { ...request, maxAgeMs };
}

export function busy(reason: string): FollowerBusy {
  return { outcome: 'busy', reason, retryAfterSeconds: RETRY_SECONDS };
}

export function failed(reason: string): FollowerFailed {
  return { outcome: 'failed', reason };
}

/** An outcome in the form in which it is sent: a JSON object, and the bytes that follow it. */
export interface SentOutcome {
  readonly outcome: object;
  readonly bytes?: Buffer | undefined;
}

export function splitOutcome(outcome: ItemOutcome | ForwardOutcome): SentOutcome {
  if (outcome.outcome !== 'answered') return { outcome };
  const { bytes, ...rest } = outcome;
  return { outcome: rest, bytes };
}

/** Returns undefined if the text is not JSON. */
export function parseChannelMessage(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns undefined if the value is not a request. */
export function readRequest(value: unknown): FollowerRequest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { want, maxAgeMs, forward } = value;
  const keyId = readKeyId(value['keyId']);
  if (isItem(want) && (maxAgeMs === undefined || isAmount(maxAgeMs))) {
    return itemRequest(want, maxAgeMs ?? Number.POSITIVE_INFINITY, keyId);
  }
  if (isJsonObject(forward) && typeof forward['type'] === 'string') {
    return { forward: forward as QuestionBody, keyId };
  }
  return undefined;
}

function readKeyId(value: unknown): string {
  return typeof value === 'string' && value.length <= KEY_ID_LENGTH_MAX ? value : UNNAMED_KEY;
}

/** Calls the handler, and returns its outcome. If the handler throws, returns a failed outcome. */
export async function handleRequest(
  handler: FollowerHandler,
  request: FollowerRequest,
): Promise<ItemOutcome | ForwardOutcome> {
  try {
    const { keyId } = request;
    if ('forward' in request) return await handler.forward(request.forward, keyId);
    const { want, maxAgeMs = Number.POSITIVE_INFINITY } = request;
    return await handler.readItem(want, maxAgeMs, keyId);
  } catch (error) {
    return failed(`the follower failed: ${(error as Error).message}`);
  }
}

/** Returns the entries with the right form; ignores other entries. */
export function readInterests(value: unknown): Interest[] {
  if (!isJsonObject(value) || !Array.isArray(value['interest'])) return [];
  return value['interest'].flatMap((entry) => {
    const { item, count, keyId } = isJsonObject(entry) ? entry : {};
    return isItem(item) && isAmount(count) ? [{ item, count, keyId: readKeyId(keyId) }] : [];
  });
}

function isItem(value: unknown): value is FollowedItem {
  if (!isJsonObject(value)) return false;
  const { kind, user, dex } = value;
  if (typeof user !== 'string' || parseAddress(user) === undefined) return false;
  return user === user.toLowerCase() && (kind === 'delegations' || isAccount(kind, dex));
}

function isAccount(kind: unknown, dex: unknown): boolean {
  return kind === 'account' && typeof dex === 'string';
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

const NO_OUTCOME = failed('the follower gave an outcome of unknown form');

export function readItemOutcome(value: unknown): ItemOutcome {
  if (!isJsonObject(value)) return NO_OUTCOME;
  const { outcome, height, answer, time } = value;
  if (outcome === 'recorded' && isAmount(height)) return { outcome, height };
  if (outcome === 'upstream' && isJsonText(answer) && isAmount(time)) {
    return { outcome, answer, time };
  }
  return readMishap(value) ?? NO_OUTCOME;
}

/** The status of a refused question. */
const REFUSED_STATUS = 422;

/** `bytes` came with the outcome. They are not checked again: the follower has checked them. */
export function readForwardOutcome(value: unknown, bytes?: Buffer): ForwardOutcome {
  if (!isJsonObject(value)) return NO_OUTCOME;
  const { outcome, rows, reason, field } = value;
  const code = readErrorCode(value['code'], REFUSED_STATUS);
  if (outcome === 'answered' && bytes !== undefined) {
    return { outcome, bytes, rows: isAmount(rows) ? rows : undefined };
  }
  if (outcome === 'refused' && typeof reason === 'string') {
    const named = { ...(typeof field === 'string' && { field }), ...(code && { code }) };
    return { outcome, reason, ...named, ...readSent(value) };
  }
  return readMishap(value) ?? NO_OUTCOME;
}

function readMishap(value: JsonObject): FollowerFailed | FollowerBusy | undefined {
  const { outcome, reason, retryAfterSeconds } = value;
  if (typeof reason !== 'string') return undefined;
  if (outcome === 'failed') return { outcome, reason, ...readSent(value) };
  if (outcome !== 'busy' || !isAmount(retryAfterSeconds)) return undefined;
  return { outcome, reason, retryAfterSeconds: Math.ceil(retryAfterSeconds), ...readSent(value) };
}

function readSent(value: JsonObject): { isSent?: true } {
  return value['isSent'] === true ? { isSent: true } : {};
}

function isJsonText(value: unknown): value is string {
  return typeof value === 'string' && parseChannelMessage(value) !== undefined;
}

/** Returns undefined if the value is not a report of the follower. */
export function readStatus(value: unknown): FollowStatus | undefined {
  if (!isJsonObject(value) || !isJsonObject(value['status'])) return undefined;
  const { upstream, isHealthy, reason, ages, followed, budget } = value['status'];
  const { skipped, counters, leftOut } = value['status'];
  if (typeof upstream !== 'string' || typeof reason !== 'string') return undefined;
  if (typeof isHealthy !== 'boolean' || !isAmount(followed)) return undefined;
  return {
    ...{ upstream, isHealthy, reason, followed },
    ages: readAges(ages),
    budget: readBudget(budget),
    ...readSkipped(skipped),
    leftOut: readLeftOut(leftOut),
    counters: readCounters(counters),
  };
}

function readAges(value: unknown): FollowAges {
  const ages = isJsonObject(value) ? value : {};
  const read = (name: keyof FollowAges) => (isAmount(ages[name]) ? ages[name] : null);
  return {
    marks: read('marks'),
    otherMarks: read('otherMarks'),
    markets: read('markets'),
    stream: read('stream'),
    accountsMedian: read('accountsMedian'),
    accountsMax: read('accountsMax'),
  };
}

function readBudget(value: unknown): FollowStatus['budget'] {
  if (!isJsonObject(value)) return null;
  const { limit, left } = value;
  return isAmount(limit) && isAmount(left) ? { limit, left } : null;
}

function readSkipped(value: unknown): Pick<FollowStatus, 'skipped'> {
  const { count, first } = isJsonObject(value) ? value : {};
  if (!isAmount(count)) return {};
  const texts = Array.isArray(first) ? first.filter((text) => typeof text === 'string') : [];
  return { skipped: { count, first: texts } };
}

function readLeftOut(value: unknown): FollowStatus['leftOut'] {
  const { count, named } = isJsonObject(value) ? value : {};
  const items: readonly unknown[] = Array.isArray(named) ? named : [];
  return {
    count: isAmount(count) ? count : 0,
    named: items.flatMap((item) => {
      const { subscription, reason } = isJsonObject(item) ? item : {};
      if (typeof subscription !== 'string' || typeof reason !== 'string') return [];
      return [{ subscription, reason }];
    }),
  };
}

function readCounters(value: unknown): FollowStatus['counters'] {
  const { mismatches, surprises } = isJsonObject(value) ? value : {};
  return { mismatches: readCounts(mismatches), surprises: readCounts(surprises) };
}

function readCounts(value: unknown): Readonly<Record<string, number>> {
  if (!isJsonObject(value)) return {};
  const counts = Object.entries(value).filter(([, count]) => isAmount(count));
  return Object.fromEntries(counts) as Record<string, number>;
}
