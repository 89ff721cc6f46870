/**
 * The other end of the channel of a service that forwards questions, in a separate process: a
 * follower that already has the exchange's answers. The benchmark so measures only what a forwarded
 * question costs a worker.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ForwardOutcome } from '../../src/upstream/channel/follower-client.ts';
import { listenOnFollowerSocket } from '../../src/upstream/channel/socket/socket-server.ts';
import { STATUS } from '../../test/upstream/channel/conformance.ts';
import { FORWARDED_EXAMPLES } from '../../tools/stub-exchange/forwarded-answers.ts';
import { ask, forkScript, isForked, stopChild } from '../frame/child.ts';

const SCRIPT = import.meta.filename;
/** The user whose `userFills` are an answer of 7.8 MB. */
export const GIANT_USER = `0x${'9'.repeat(40)}`;
const GIANT_ROWS = 30_000;

/** Starts the follower, which listens in the folder of a ledger. */
export async function startStubFollower(folder: string): Promise<{ stop(): Promise<void> }> {
  const follower: ChildProcess = forkScript(SCRIPT);
  await ask(follower, { folder });
  return { stop: () => stopChild(follower) };
}

/** Returns fills as the exchange lists them. */
export function giantRows(): object[] {
  const fill = {
    ...{ coin: 'BTC', px: '60000.0', sz: '0.01', side: 'B', time: 1_789_132_385_514 },
    ...{ startPosition: '0.0', dir: 'Open Long', closedPnl: '0.0', hash: `0x${'f'.repeat(64)}` },
    ...{ oid: 543_755_136_278, crossed: true, fee: '0.1', feeToken: 'USDC' },
  };
  return Array.from({ length: GIANT_ROWS }, (_, tid) => ({ ...fill, tid }));
}

function outcomeOf(answer: unknown): ForwardOutcome {
  const rows = Array.isArray(answer) ? answer.length : undefined;
  return { outcome: 'answered', bytes: Buffer.from(JSON.stringify(answer)), rows };
}

async function serve(): Promise<void> {
  const [{ folder }] = (await once(process, 'message')) as [{ folder: string }];
  const giant = outcomeOf(giantRows());
  const outcomes = new Map<unknown, ForwardOutcome>(
    FORWARDED_EXAMPLES.map(({ type, answers }) => [type, outcomeOf(answers[0])]),
  );
  await listenOnFollowerSocket(folder, {
    readItem: async () => ({ outcome: 'failed', reason: 'nothing is read here' }),
    noteInterest: () => undefined,
    forward: async ({ type, ...fields }) =>
      fields['user'] === GIANT_USER ? giant : (outcomes.get(type) as ForwardOutcome),
    status: () => STATUS,
  });
  process.send?.('listening');
}

if (isForked(SCRIPT)) await serve();
