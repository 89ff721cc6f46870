/**
 * How long the longest answers of an exchange hold a worker's event loop while they are passed on:
 *
 *   npm run bench:giant                  ten rounds of two seconds
 *   npm run bench:giant -- --quick       one round
 *
 * The worker runs in this process. The follower, and the clients, which ask for 7.8 MB again and again, run in
 * processes of their own; the answer comes over the socket between follower and worker, as in a service.
 */

import { parseArgs } from 'node:util';
import { ChannelClient } from '../../src/upstream/channel/channel-client.ts';
import { SocketChannel } from '../../src/upstream/channel/socket/socket-channel.ts';
import { listenOnFollowerSocket } from '../../src/upstream/channel/socket/socket-server.ts';
import { createInProcess, listenLocally, openGround } from '../../test/http/in-process.ts';
import { STATUS } from '../../test/upstream/channel/conformance.ts';
import { formatQuestion, prepareData } from '../../tools/harness/service.ts';
import { ask, forkScript, isForked, stopChild } from '../frame/child.ts';
import { type Bench, runBench } from '../frame/frame.ts';
import { LongestSlice } from '../frame/longest-slice.ts';
import { atMost, type Goal, printTable, stated } from '../frame/report.ts';
import { type Group, RequestLoad } from '../load/request-load.ts';

const SCRIPT = import.meta.filename;
const GIANT_BYTES = 7_800_000;
const SLICE_MS_MAX = 10;
const QUESTION = JSON.stringify({ type: 'userFills', user: `0x${'a'.repeat(40)}` });
const ROW = {
  ...{ coin: 'BTC', px: '60000.0', sz: '0.01', side: 'B', time: 1, startPosition: '0.0' },
  ...{ dir: 'Open Long', closedPnl: '0.0', hash: `0x${'f'.repeat(64)}`, oid: 1, crossed: true },
  ...{ fee: '0.1', tid: 1, feeToken: 'USDC' },
};
const CONNECTIONS = [1, 4];
const ROUNDS = 10;
const ROUND_SECONDS = 2;

/** A follower that knows one answer. */
async function follow(folder: string): Promise<void> {
  const row = JSON.stringify(ROW);
  const rows = Math.floor(GIANT_BYTES / (row.length + 1));
  const bytes = Buffer.from(`[${new Array(rows).fill(row).join(',')}]`);
  await listenOnFollowerSocket(folder, {
    readItem: async () => ({ outcome: 'failed', reason: 'only forwarded questions are answered' }),
    noteInterest: () => undefined,
    forward: async () => ({ outcome: 'answered', bytes, rows }),
    status: () => STATUS,
  });
}

interface Round {
  readonly longestMs: number;
  readonly perSecond: number;
}

/** Asks from so many connections at once. */
async function measure(port: number, load: RequestLoad, group: Group): Promise<Round> {
  const slices = new LongestSlice();
  slices.start();
  const [run] = await load.run({ port, groups: [group], seconds: ROUND_SECONDS });
  return { longestMs: await slices.stop(), perSecond: run.latencies.length / run.seconds };
}

async function run(bench: Bench, rounds: number): Promise<Goal[]> {
  const { folder, key } = await prepareData(bench);
  const followerProcess = forkScript(SCRIPT);
  bench.after(() => stopChild(followerProcess));
  await ask(followerProcess, { folder });
  const follower = new ChannelClient(new SocketChannel(folder));
  const ground = await openGround(folder);
  await ground.live.restored;
  const settings = { forward: true };
  const service = createInProcess(ground, { follower, settings, checksAnswers: false });
  const port = await listenLocally(service.server);
  const load = new RequestLoad();
  const requests = [formatQuestion(key, { body: QUESTION })];
  const goals: Goal[] = [];
  const rows: string[][] = [];
  for (const connections of CONNECTIONS) {
    const group = { name: '', requests, connections, status: 200 };
    await measure(port, load, group);
    const measured: Round[] = [];
    while (measured.length < rounds) measured.push(await measure(port, load, group));
    const longest = measured.map(({ longestMs }) => longestMs);
    const name = `${connections} at once`;
    goals.push(atMost(`longest slice, ${name}, ms`, SLICE_MS_MAX, longest));
    const perSecond = measured.map((round) => round.perSecond);
    goals.push(stated(`answers/s, ${name}`, perSecond, 1));
    rows.push([name, longest.map((ms) => ms.toFixed(1)).join(' ')]);
  }
  printTable(['connections', 'longest slice of each round, ms'], rows);
  await load.stop();
  service.close();
  await follower.close();
  await ground.close();
  return goals;
}

if (isForked(SCRIPT)) {
  process.once('message', ({ folder }: { folder: string }) => {
    void follow(folder).then(() => process.send?.('listening'));
  });
} else {
  const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
  await runBench((bench) => run(bench, values.quick ? 1 : ROUNDS));
}
