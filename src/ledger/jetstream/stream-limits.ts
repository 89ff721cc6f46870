/** The limits of a stream beyond which it drops its oldest blocks, as its operator has set them. */

import type { StreamInfo } from '@nats-io/jetstream';

export interface StreamLimits {
  readonly name: string;
  /** Infinity for no limit, like the other ones. */
  readonly blocksMax: number;
  /** The option of the stream that sets it. */
  readonly blocksOption: 'max_msgs' | 'max_msgs_per_subject';
  readonly bytesMax: number;
  readonly ageMsMax: number;
  /** The mean size of the blocks that are stored now; undefined without any. */
  readonly meanBytes: number | undefined;
}

const NANOS = 1e6;

export function limitsOf({ config, state }: StreamInfo): StreamLimits {
  const { name, max_msgs, max_msgs_per_subject, max_bytes, max_age } = config;
  // A stream that discards new messages refuses them at these two limits, and drops nothing.
  const dropsOld = config.discard !== 'new';
  const ofStream = dropsOld ? orInfinity(max_msgs) : Number.POSITIVE_INFINITY;
  // All blocks have the same subject.
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
