/** Creates frames of compressed marks that no client can read. */

import { deflateRawSync } from 'node:zlib';
import type { Random } from '../../src/simulator/random.ts';

type Json = ReturnType<typeof JSON.parse>;

/** A text that inflates to twice the size that a client accepts. */
const OVERSIZED = deflateRawSync(Buffer.alloc(16 << 20, ' ')).toString('base64');

/** Returns the message with data that is cut in the middle, or that is valid and far too large. */
export function breakFrame(message: Json, random: Random): Json {
  const { data } = message;
  const cut = data.slice(0, random.below(data.length));
  return { ...message, data: random.chance(0.5) ? cut : OVERSIZED };
}
