/**
 * The requests of a hostile key: the questions, bodies and frames that cost the most compared with
 * their charge.
 */

import { randomBytes } from 'node:crypto';
import { formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { listPushFloods } from '../load/push-frames.ts';
import type { PushGroup } from '../load/push-load.ts';
import type { Group } from '../load/request-load.ts';
import { type WeightsData, WHALES } from '../weights/data.ts';

const BODY_BYTES_MAX = 65_536;
const BATCH_USERS = 1000;
const COMMAS = 15_000;
/** Enough accounts that a key always asks for accounts that were not read before. */
const UNKNOWN_ACCOUNTS = 20_000;
const ABANDON_MS = 5;
/** The number of frames that a connection of a flood sends without waiting for answers. */
const FRAMES_AHEAD = 32;

type Ask = (body: unknown) => Uint8Array;

export function asking(key: string): Ask {
  return (body) => formatQuestion(key, { body: JSON.stringify(body) });
}

export function accountsOf(ask: Ask, users: readonly string[]): Uint8Array[] {
  return users.map((user) => ask({ type: 'clearinghouseState', user }));
}

export function newUsers(): string[] {
  return Array.from({ length: UNKNOWN_ACCOUNTS }, () => `0x${randomBytes(20).toString('hex')}`);
}

/**
 * Returns questions about the past of accounts with 15,000 fills, and about a thousand whales in
 * one call.
 */
export function historyOfWhales(key: string, data: WeightsData): Group[] {
  const ask = asking(key);
  const span = Math.ceil((data.lastTime - data.firstTime) / 4000);
  const past = WHALES.flatMap(({ user }) => [
    ask({ type: 'liquidationHistory', user }),
    ask({ type: 'positionHistory', user, coin: 'ETH' }),
    ask({ type: 'accountHistory', user, step: span }),
    ask({ type: 'portfolio', user }),
    ask({ type: 'clearinghouseState', user, atHeight: 1500 }),
  ]);
  const batch = (users: readonly string[], fields: object) =>
    ask({
      type: 'batchClearinghouseStates',
      users: Array.from({ length: BATCH_USERS }, (_, index) => users[index % users.length]),
      ...fields,
    });
  const whales = WHALES.map(({ user }) => user);
  const batches = [batch(data.allWhales, {}), batch(whales, { atHeight: 1500 })];
  return [
    { name: 'history', requests: past, connections: 4 },
    { name: 'abandoned', requests: past, connections: 4, abandonMs: ABANDON_MS },
    { name: '1,000 whales, now and in the past', requests: batches, connections: 4 },
    { name: 'the same, abandoned', requests: batches, connections: 2, abandonMs: ABANDON_MS },
  ];
}

/**
 * Returns requests that the service refuses or answers for a small charge: bodies, heads and
 * connections.
 */
export function costlyRequests(key: string): Group[] {
  const body = (text: string) => formatQuestion(key, { body: text });
  const arrays = `[${'[],'.repeat(BODY_BYTES_MAX / 3 - 2)}[]]`;
  const user = `0x${'a'.repeat(40)}`;
  const path = `/${key}/info?type=clearinghouseState&user=${user}`;
  const headers = { 'If-None-Match': ','.repeat(COMMAS) };
  const question = JSON.stringify({ type: 'exchangeStatus' });
  const closing = formatQuestion(key, { body: question, headers: { Connection: 'close' } });
  return [
    { name: 'bodies', requests: [body(arrays), body('x'.repeat(65_000))], connections: 2 },
    { name: 'bodies over the limit', requests: [body('x'.repeat(70_000))], connections: 2 },
    {
      name: 'polls with 15,000 commas',
      requests: [formatRequest({ method: 'GET', path, headers })],
      connections: 2,
    },
    { name: 'new connections', requests: [closing], connections: 4 },
  ];
}

/** Returns floods of push frames. */
export function pushFloods(secret: string): PushGroup[] {
  return Object.entries(listPushFloods()).map(([name, frame]) => ({
    name: `push: ${name}`,
    ...{ secret, steps: [{ frame, answers: 1 }], connections: 1, ahead: FRAMES_AHEAD },
  }));
}
