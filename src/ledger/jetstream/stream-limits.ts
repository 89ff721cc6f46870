/**
 * The limits of a stream beyond which it drops its oldest blocks. The stream's operator sets them.
 */

import type { StreamInfo } from '@nats-io/jetstream';

export interface StreamLimits {
  readonly name: string;
  /** The maximum number of blocks. Like the other limits, it is Infinity if there is no limit. */
  readonly blocksMax: number;
  /** The option of the stream that sets `blocksMax`. */
  readonly blocksOption: 'max_msgs' | 'max_msgs_per_subject';
  readonly bytesMax: number;
  readonly ageMsMax: number;
  /** The mean size of the blocks that are stored now; undefined if there are none. */
  readonly meanBytes: number | undefined;
}

const NANOS = 1e6;

export function limitsOf({ config, state }: StreamInfo): StreamLimits {
  const { name, max_msgs, max_msgs_per_subject, max_bytes, max_age } = config;
  // A stream that discards new messages refuses them at max_msgs and max_bytes, and drops no
  // blocks.
  const dropsOld = config.discard !== 'new';
  const ofStream = dropsOld ? orInfinity(max_msgs) : Number.POSITIVE_INFINITY;
  // All blocks have the same subject, so this limit also applies to the whole stream.
  const ofSubject =
    dropsOld || config.discard_new_per_subject !== true
      ? orInfinity(max_msgs_per_subject)
      : Number.POSITIVE_INFINITY;
  return {
    name,
    blocksMax: Math.min(ofStream, ofSubject),
    blocksOption: ofSubject < ofStream ? 'max_msgs_per_subject' : 'max_msgs',
    bytesMax: dropsOld ? orInfinity(max_bytes) : Number.POSITIVE_INFINITY,
    ageMsMax: orInfinity(max_age) / NANOS,
    meanBytes: state.messages === 0 ? undefined : state.bytes / state.messages,
  };
}

export function isLimited({ blocksMax, bytesMax, ageMsMax }: StreamLimits): boolean {
  return Math.min(blocksMax, bytesMax, ageMsMax) < Number.POSITIVE_INFINITY;
}

/** NATS writes -1 or 0 for no limit. */
function orInfinity(limit: number | undefined): number {
  return limit === undefined || limit <= 0 ? Number.POSITIVE_INFINITY : limit;
}
