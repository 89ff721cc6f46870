/**
 * Measures how long the longest answers of an exchange block a worker's event loop while they are
 * forwarded:
 *
 *   npm run bench:giant                  a minute
 *   npm run bench:giant -- --quick       some seconds
 *
 * A round is as short as a few answers, and the figure is the median of the rounds. Work that
 * belongs to an answer is in every round, but a slice that another program made longer is in few
 * rounds. For the same reason the script runs with --single-threaded: the processor time of a slice
 * is the time of the whole process.
 *
 * The worker runs in this process. The follower runs in a separate process, and so do the clients,
 * which ask for 7.8 MB again and again. The answer passes through the socket between follower and
 * worker, as in a service.
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
const SHARES = [0.1, 0.5, 0.9, 1];
const ROUNDS = 50;
const ROUNDS_QUICK = 10;
const WARM_UP_SECONDS = 2;
const ROUND_SECONDS = 0.15;

/** Runs a follower that has one answer for all questions. */
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

/** Measures one round of the group's questions. */
async function measure(
  port: number,
  load: RequestLoad,
  group: Group,
  seconds = ROUND_SECONDS,
): Promise<Round> {
  const slices = new LongestSlice();
  slices.start();
  const [run] = await load.run({ port, groups: [group], seconds });
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
  const service = createInProcess(ground, { follower, settings, isChecked: false });
  const port = await listenLocally(service.server);
  const load = new RequestLoad();
  const requests = [formatQuestion(key, { body: QUESTION })];
  const goals: Goal[] = [];
  const rows: string[][] = [];
  for (const connections of CONNECTIONS) {
    const group = { name: '', requests, connections };
    await measure(port, load, group, WARM_UP_SECONDS);
    const measured: Round[] = [];
    while (measured.length < rounds) {
      const round = await measure(port, load, group);
      if (round.perSecond > 0) measured.push(round);
    }
    const longest = measured.map(({ longestMs }) => longestMs);
    const name = `${connections} at once`;
    goals.push(atMost(`longest slice, ${name}, ms`, SLICE_MS_MAX, longest));
    const perSecond = measured.map((round) => round.perSecond);
    goals.push(stated(`answers/s, ${name}`, perSecond, 1));
    const sorted = longest.toSorted((one, other) => one - other);
    const shares = SHARES.map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
    rows.push([name, ...shares.map((ms) => ms.toFixed(1))]);
  }
  const titles = SHARES.map((share) => `${share * 100} % of the rounds`);
  printTable(['longest slice, ms', ...titles], rows);
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
  await runBench((bench) => run(bench, values.quick ? ROUNDS_QUICK : ROUNDS));
}
