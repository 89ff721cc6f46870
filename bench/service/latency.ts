/**
 * Measures the latency of answers at a constant rate, which is half of the service's maximum. The
 * references are nginx at the same rate, and the service while something disturbs it.
 */

import { atMost, type Goal, printTable, ratiosIn, spreadIn } from '../frame/report.ts';
import { type RateLoad, type RateRun, startRateLoad } from '../load/rate-load.ts';
import type { Disturbance, Pace, RunningWriter } from '../load/writer.ts';
import type { Wrk } from '../load/wrk.ts';
import { askForAccount, type Exchange } from '../servers/exchange.ts';
import type { RunningServer } from '../servers/servers.ts';
import { createBulkLoad } from './bulk.ts';

/** A disturbance may still delay requests that are due this long after its end. */
const MARGIN_MS = 20;
/** The p99 of fewer requests is one of the two or three slowest ones. */
const COUNTED_MIN = 300;
/**
 * The share of the rate at which other requests are sent while calls for many accounts use the rest
 * of the service's time.
 */
const BATCHED_SHARE = 0.25;
/** If most requests wait longer than this for a connection, they queue up. */
const KEPT_MS = 1;

export interface LatencyScale {
  readonly rounds: number;
  readonly roundSeconds: number;
  /**
   * The length of a disturbed run. It is longer than the other runs, because only requests that are
   * due during a disturbance count.
   */
  readonly disturbedSeconds: number;
  readonly warmUpSeconds: number;
}

/** The latencies of the requests that count, ascending. */
type Latencies = Float64Array;

interface Figures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly count: number;
}

function figuresOf(sorted: Latencies): Figures {
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), count: sorted.length };
}

/** Returns the time at which the request with this number was due. */
function dueMs({ startMs, requestsPerSecond }: RateRun, request: number): number {
  return startMs + (request * 1000) / requestsPerSecond;
}

/**
 * Returns the time of the first answer from this height or above; returns undefined if there is
 * none.
 */
function firstAnswerMs(run: RateRun, height: number): number | undefined {
  let first: number | undefined;
  for (let request = 0; request < run.heights.length; request++) {
    if (run.heights[request] < height) continue;
    const answeredMs = dueMs(run, request) + run.latenciesMs[request];
    first = Math.min(first ?? answeredMs, answeredMs);
  }
  return first;
}

/** Returns the disturbances that start and end during the run. */
function windowsIn(run: RateRun, disturbances: readonly Disturbance[]): Disturbance[] {
  const lastMs = dueMs(run, run.latenciesMs.length - 1);
  return disturbances.filter(({ startMs, endMs }) => startMs >= run.startMs && endMs < lastMs);
}

/**
 * Returns the disturbances with other ends: a block may still be applied until an answer shows it,
 * even if it was durable long before.
 */
function untilAnswered(run: RateRun, blocks: readonly Disturbance[]): Disturbance[] {
  return blocks.map((block) => ({
    ...block,
    endMs: Math.max(block.endMs, firstAnswerMs(run, block.height) ?? Number.POSITIVE_INFINITY),
  }));
}

/** Returns the latencies of requests that were due during one of the disturbances, ascending. */
function latenciesDuring(run: RateRun, disturbances: readonly Disturbance[]): Latencies {
  const counted = run.latenciesMs.filter((_, request) => {
    const due = dueMs(run, request);
    return disturbances.some(({ startMs, endMs }) => due >= startMs && due <= endMs + MARGIN_MS);
  });
  return counted.sort();
}

/** A kind of run: its name, and the figures of each round. */
interface Kind {
  readonly name: string;
  readonly rounds: Figures[];
}

class LatencyBench {
  readonly nginx: Kind = { name: 'nginx, fixed body', rounds: [] };
  readonly ordinary: Kind = { name: 'perpinfo', rounds: [] };
  readonly snapshots: Kind = { name: 'perpinfo, snapshot being written', rounds: [] };
  readonly blocks: Kind = { name: 'perpinfo, block of 5,000 events', rounds: [] };
  readonly quarter: Kind = { name: 'perpinfo, a quarter of the rate', rounds: [] };
  readonly batches: Kind = { name: 'the same, calls for 1,000 accounts beside it', rounds: [] };
  /**
   * The times that requests of ordinary runs waited to be sent. They are the load generator's part
   * of the latencies.
   */
  readonly waits: Kind = { name: 'of perpinfo: until it was sent', rounds: [] };
  readonly #options: LatencyOptions;
  readonly #load: RateLoad;
  readonly #batches: Wrk;

  constructor(options: LatencyOptions, load: RateLoad) {
    this.#options = options;
    this.#load = load;
    this.#batches = createBulkLoad(options.exchange, 1);
  }

  /**
   * The disturbed runs are compared with the ordinary run of the same round, not with the rest of
   * the same run. The effects of a disturbance after its window would slow this rest down, too. The
   * worse these effects are, the better the ratio would look.
   */
  async runRound(): Promise<void> {
    const { nginx, perpinfo, scale } = this.#options;
    const nginxRun = await this.#run(nginx, scale.roundSeconds);
    this.nginx.rounds.push(figuresOf(nginxRun.latenciesMs.sort()));
    const ordinaryRun = await this.#run(perpinfo, scale.roundSeconds);
    this.ordinary.rounds.push(figuresOf(ordinaryRun.latenciesMs.sort()));
    this.waits.rounds.push(figuresOf(ordinaryRun.waitsMs.sort()));
    const saved = await this.#runDisturbed('snapshots');
    const written = windowsIn(saved.run, saved.disturbances);
    this.snapshots.rounds.push(figuresOf(latenciesDuring(saved.run, written)));
    const large = await this.#runDisturbed('large');
    const applied = windowsIn(large.run, untilAnswered(large.run, large.disturbances));
    this.blocks.rounds.push(figuresOf(latenciesDuring(large.run, applied)));
    await this.#runBatches();
  }

  /**
   * Measures a run while another client asks for a thousand accounts at a time, one call after the
   * other.
   */
  async #runBatches(): Promise<void> {
    const { perpinfo, scale } = this.#options;
    const runQuarter = () => this.#run(perpinfo, scale.roundSeconds, BATCHED_SHARE);
    const alone = await runQuarter();
    this.quarter.rounds.push(figuresOf(alone.latenciesMs.sort()));
    const seconds = scale.warmUpSeconds + scale.roundSeconds;
    const [beside] = await Promise.all([runQuarter(), this.#batches.load(perpinfo.port, seconds)]);
    this.batches.rounds.push(figuresOf(beside.latenciesMs.sort()));
  }

  async #runDisturbed(pace: Pace): Promise<{ run: RateRun; disturbances: Disturbance[] }> {
    const { perpinfo, writer, scale } = this.#options;
    await writer.setPace(pace);
    const run = await this.#run(perpinfo, scale.disturbedSeconds);
    return { run, disturbances: await writer.setPace('ordinary') };
  }

  #run({ port }: RunningServer, seconds: number, share = 1): Promise<RateRun> {
    const { exchange, scale } = this.#options;
    const requestsPerSecond = this.#options.requestsPerSecond * share;
    const { requestPath } = exchange;
    const { warmUpSeconds } = scale;
    return this.#load.run({ port, requestPath, requestsPerSecond, warmUpSeconds, seconds });
  }
}

export interface LatencyOptions {
  readonly exchange: Exchange;
  readonly perpinfo: RunningServer;
  readonly nginx: RunningServer;
  readonly writer: RunningWriter;
  readonly requestsPerSecond: number;
  readonly scale: LatencyScale;
}

export async function benchLatency(options: LatencyOptions): Promise<Goal[]> {
  const { exchange, scale, requestsPerSecond } = options;
  const load = await startRateLoad(exchange.folder, exchange.users.map(askForAccount));
  const bench = new LatencyBench(options, load);
  try {
    for (let round = 0; round < scale.rounds; round++) await bench.runRound();
  } finally {
    await load.stop();
  }
  const { nginx, ordinary, waits, snapshots, blocks, quarter, batches } = bench;
  console.log(`${requestsPerSecond.toFixed(0)} requests/s, each counted from when it was due`);
  print([nginx, ordinary, waits, snapshots, blocks, quarter, batches]);
  const isKept = waits.rounds.map(({ p50Ms }) => p50Ms <= KEPT_MS);
  const keptCount = isKept.filter(Boolean).length;
  console.log(`perpinfo kept up with the rate in ${keptCount} of ${isKept.length} rounds`);
  const disturbed = (figure: string, kind: Kind) =>
    judgeDisturbed(
      figure,
      ratios(kind, ordinary).filter((_, round) => isKept[round]),
    );
  return [
    atMost("p99 at half of perpinfo's maximum / nginx's at that rate", 3, ratios(ordinary, nginx)),
    disturbed('p99 while a snapshot is written / ordinary p99', snapshots),
    disturbed('p99 while 5,000 events are applied / ordinary p99', blocks),
    atMost('p99 while calls for 1,000 accounts are answered / before', 2, ratios(batches, quarter)),
  ];
}

/**
 * Returns the goal from the rounds in which the ordinary run kept up with the rate. If requests
 * queue up because the machine is busy, the effect of a disturbance disappears in the queue, and
 * the disturbance would seem to cost nothing.
 */
function judgeDisturbed(figure: string, keptRatios: readonly number[]): Goal {
  if (keptRatios.length > 0) return atMost(figure, 2, keptRatios);
  return { figure, measured: 'no round kept the rate', goal: 'at most 2', isMet: false };
}

/** Returns the p99 of one kind divided by the p99 of the reference, for each round. */
function ratios({ rounds }: Kind, reference: Kind): number[] {
  return ratiosIn(rounds, reference.rounds, 'p99Ms');
}

function print(kinds: readonly Kind[]): void {
  const rows = kinds.map(({ name, rounds }) => {
    const spread = (figure: keyof Figures, digits: number) => spreadIn(rounds, figure, digits);
    return [name, spread('p50Ms', 2), spread('p99Ms', 2), spread('maxMs', 1), spread('count', 0)];
  });
  printTable(['', 'p50, ms', 'p99, ms', 'longest, ms', 'requests counted'], rows);
  const isThin = kinds.some(({ rounds }) => rounds.some(({ count }) => count < COUNTED_MIN));
  if (isThin) console.log(`a p99 of fewer than ${COUNTED_MIN} requests says little`);
}
