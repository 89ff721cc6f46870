/** Random conversations: a handful of requests, sent ahead or one after the other, in any pieces. */

import type { Random } from '../../src/simulator/random.ts';
import type { Conversation, Read } from './both-lanes.ts';
import { ordinaryRequest, randomRequest, type Source } from './random-requests.ts';

/** Where the bytes are cut into reads. */
export function cutAt(bytes: Buffer, places: readonly number[]): Read[] {
  const sorted = [0, ...places].sort((a, b) => a - b);
  return sorted
    .map((start, index) => bytes.subarray(start, sorted[index + 1] ?? bytes.length))
    .filter((part) => part.length > 0)
    .map((part) => ({ bytes: part, isAwaited: false }));
}

export function byteByByte(bytes: Buffer): Read[] {
  return cutAt(
    bytes,
    Array.from(bytes.keys()).filter((place) => place > 0),
  );
}

function randomPlaces(random: Random, length: number): number[] {
  return Array.from({ length: 1 + random.below(4) }, () => random.below(length));
}

/** Close to where one request ends and the next begins, or headers end and a body begins. */
function placesAtSeams(random: Random, requests: readonly Buffer[]): number[] {
  const places: number[] = [];
  let start = 0;
  for (const request of requests) {
    const headEnd = request.indexOf('\r\n\r\n');
    for (const seam of [start + headEnd + 4, start + request.length]) {
      if (random.chance(0.5)) places.push(Math.max(0, seam + random.below(7) - 3));
    }
    start += request.length;
  }
  return places.filter((place) => place < start);
}

export function cutRequests(random: Random, requests: readonly Buffer[]): Read[] {
  const kind = random.fraction();
  const bytes = Buffer.concat(requests);
  if (kind < 0.35) {
    return requests.map((request) => ({ bytes: request, isAwaited: random.chance(0.7) }));
  }
  if (kind < 0.6) return cutAt(bytes, []);
  if (kind < 0.75) return cutAt(bytes, placesAtSeams(random, requests));
  if (kind < 0.755) return byteByByte(bytes);
  return cutAt(bytes, randomPlaces(random, bytes.length)).map((read) => ({
    ...read,
    isAwaited: random.chance(0.2),
  }));
}

/** More requests than a connection gets answers in one turn. */
const PIPELINE_MAX = 40;

function deepPipeline(source: Source): Buffer[] {
  const request = ordinaryRequest(source);
  const count = PIPELINE_MAX - source.random.below(30);
  const requests = Array.from({ length: count }, () => request);
  if (source.random.chance(0.2)) requests[source.random.below(count)] = randomRequest(source);
  return requests;
}

/** Ordinary ones, and mostly one among them that is not: what follows it may not be looked at. */
export function fewRequests(source: Source): Buffer[] {
  const { random } = source;
  const count = random.pick([1, 1, 2, 2, 3, 4, 6]);
  const requests = Array.from({ length: count }, () => ordinaryRequest(source));
  for (const times of [0.75, 0.2]) {
    if (random.chance(times)) requests[random.below(count)] = randomRequest(source);
  }
  return requests;
}

function offersWebSocket(request: Buffer): boolean {
  return /websocket/i.test(request.toString('latin1'));
}

/** A conversation, and of how many requests it was made. */
export function randomConversation(source: Source): Conversation & { readonly count: number } {
  const { random } = source;
  const isDeep = random.chance(0.01);
  const requests = isDeep ? deepPipeline(source) : fewRequests(source);
  const kind = random.fraction();
  return {
    reads: cutRequests(random, requests),
    ending: kind < 0.6 ? 'stays' : kind < 0.9 ? 'hangs up' : 'resets',
    // The number of responses in flight depends on how fast they are read, and so does whether a
    // WebSocket can still refuse a frame before the connection ends.
    isSlow: !isDeep && !requests.some(offersWebSocket) && random.chance(0.1),
    count: requests.length,
  };
}
