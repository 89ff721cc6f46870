/** The limits of a stream beyond which it drops its oldest blocks, as its operator has set them. */

import type { StreamInfo } from '@nats-io/jetstream';

export interface StreamLimits {
  readonly name: string;
  /** Infinity for no limit, like the other ones. */
  readonly blocksMax: number;
  readonly bytesMax: number;
  readonly ageMsMax: number;
  /** The mean size of the blocks that are stored now; undefined without any. */
  readonly meanBytes: number | undefined;
}

const NANOS = 1e6;

export function limitsOf({ config, state }: StreamInfo): StreamLimits {
  const { name, max_msgs, max_msgs_per_subject, max_bytes, max_age } = config;
  return {
    name,
    // All blocks have the same subject.
    blocksMax: Math.min(orInfinity(max_msgs), orInfinity(max_msgs_per_subject)),
    bytesMax: orInfinity(max_bytes),
    ageMsMax: orInfinity(max_age) / NANOS,
    meanBytes: state.messages === 0 ? undefined : state.bytes / state.messages,
  };
}

/** NATS writes -1 or 0 for no limit. */
function orInfinity(limit: number | undefined): number {
  return limit === undefined || limit <= 0 ? Number.POSITIVE_INFINITY : limit;
}
