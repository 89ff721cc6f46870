/**
 * Measures what it costs an answer that the ledger is partial: each answer says how old its account
 * is, and the follower is notified of the questions. There are two equal ledgers, one of them
 * partial, and each has a service and a writer.
 */

import path from 'node:path';
import { Committer } from '../../src/feed/committer.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import type { FollowerHandler } from '../../src/upstream/channel/follower-client.ts';
import { listenOnFollowerSocket } from '../../src/upstream/channel/socket/socket-server.ts';
import type { Bench } from '../frame/frame.ts';
import { type Goal, stated } from '../frame/report.ts';
import { startWriter } from '../load/writer.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, buildExchange, type Exchange, PATIENCE } from '../servers/exchange.ts';
import { startPerpinfo } from '../servers/servers.ts';
import {
  type Contestant,
  measureInTurns,
  pickFew,
  printContestants,
  type RoundsScale,
  ratiosOf,
} from '../service/throughput.ts';

export interface PartialScale {
  readonly accounts: number;
  readonly rounds: RoundsScale;
}

const EVENTS_PER_BLOCK = 1000;

export async function benchPartial(bench: Bench, scale: PartialScale): Promise<Goal[]> {
  const ordinary = await buildExchange(path.join(bench.folder, 'ordinary'), scale.accounts);
  const partial = await buildExchange(path.join(bench.folder, 'partial'), scale.accounts);
  await makePartial(partial);
  const port = await listenOnFollowerSocket(partial.folder, IDLE_FOLLOWER);
  bench.after(() => port.close());
  const contestants = [
    ...(await compete('ordinary', ordinary, bench)),
    ...(await compete('partial', partial, bench)),
  ];
  await measureInTurns(contestants, scale.rounds);
  printContestants(contestants);
  const [random, few, partialRandom, partialFew] = contestants;
  return [state('random users', partialRandom, random), state('a thousand users', partialFew, few)];
}

function state(users: string, ours: Contestant, reference: Contestant): Goal {
  return stated(`requests/s, ${users}, partial ledger / ordinary one`, ratiosOf(ours, reference));
}

async function compete(
  name: string,
  { folder, users, requestPath }: Exchange,
  bench: Bench,
): Promise<Contestant[]> {
  await bench.keep(startWriter(folder));
  const server = await bench.keep(startPerpinfo(folder, { workers: 1, flags: PATIENCE }));
  const bodies = users.map(askForAccount);
  const all = new Wrk({ folder, name: 'all', bodies, requestPath });
  const few = new Wrk({ folder, name: 'few', bodies: pickFew(bodies), requestPath });
  return [
    { name: `${name}, random users`, server, wrk: all, rounds: [] },
    { name: `${name}, a thousand users`, server, wrk: few, rounds: [] },
  ];
}

/** Turns the ledger into the ledger of a follower that has read all of its accounts. */
async function makePartial({ folder, users }: Exchange): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(folder);
  const snapshots = new SnapshotFolder(folder);
  const replica = await restoreReplica({ ledger, snapshots, warn: console.error });
  const committer = new Committer(ledger, () => undefined);
  const { time } = replica.state;
  const read = users.map((user) => ({ type: 'accountTime', user, dex: '', time }));
  const events = [{ type: 'partial' }, ...read];
  for (let start = 0; start < events.length; start += EVENTS_PER_BLOCK) {
    const block = {
      height: replica.point.height + 1,
      time,
      events: events.slice(start, start + EVENTS_PER_BLOCK),
    };
    committer.add(replica.extend(Buffer.from(JSON.stringify(block))));
  }
  await committer.flush();
  await snapshots.save(replica.state, replica.point.hash);
  await ledger.close();
}

/**
 * A follower that is never asked to read, because the ledger has all accounts. It is only notified
 * of the questions.
 */
const IDLE_FOLLOWER: FollowerHandler = {
  readItem: () => Promise.resolve({ outcome: 'failed', reason: 'nothing is unknown' }),
  noteInterest: () => undefined,
  forward: () => Promise.resolve({ outcome: 'failed', reason: 'nothing is passed on' }),
  status: () => ({
    upstream: 'http://bench',
    isHealthy: true,
    reason: '',
    ages: { marks: 0, otherMarks: 0, markets: 0, stream: 0, accountsMedian: 0, accountsMax: 0 },
    followed: 0,
    budget: null,
    leftOut: { count: 0, named: [] },
    counters: { mismatches: {}, surprises: {} },
  }),
};
