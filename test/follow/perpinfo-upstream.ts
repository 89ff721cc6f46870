/** Another perpinfo as the upstream: a service that follows a demo, as an operator would run it. */

import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { type Cleanup, createKey } from '../../tools/harness/running.ts';
import { RunningFollower } from '../../tools/harness/running-follower.ts';

/** Set for suites whose demos are to be followed: their tests then ask the follower. */
export const isFollowed = process.env['PERPTEST_FOLLOWED'] === 'true';

export interface PerpinfoUpstream {
  readonly port: number;
  /** Its data directory. */
  readonly data: string;
}

/** Follows it with a key of its own, into another data directory. */
export async function followPerpinfo(
  context: Cleanup,
  upstream: PerpinfoUpstream,
  data: string,
  ...flags: string[]
): Promise<RunningFollower> {
  const { secret } = await createKey(upstream.data, { label: 'follower' });
  const stub = { url: `http://127.0.0.1:${upstream.port}/${secret}/` };
  return RunningFollower.start(context, { data, stub, flags });
}

/** The heights of a ledger's blocks with this time. */
export async function heightsAt(data: string, time: number): Promise<number[]> {
  const ledger = await openEmbeddedLedger(data);
  const heights: number[] = [];
  try {
    const head = await ledger.head();
    for await (const batch of ledger.read(0, head.height)) {
      for (const { line, height } of batch) {
        if (JSON.parse(line.toString()).time === time) heights.push(height);
      }
    }
  } finally {
    await ledger.close();
  }
  return heights;
}
