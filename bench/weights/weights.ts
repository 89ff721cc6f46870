/**
 * What each question costs for the weight that is charged for it, beside an ordinary clearinghouseState:
 *
 *   npm run bench:weights                          every question, three minutes
 *   npm run bench:weights -- --short               the same in a minute, less exactly
 *   npm run bench:weights -- portfolio 'at a past' those whose line holds one of these texts
 *
 * One worker answers in this process, over sockets, and a client asks in another. Processor time is that
 * of this process, garbage collection and the system's part included.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Budgets } from '../../src/access/budgets.ts';
import { ArchiveLink } from '../../src/archive/reading/archive-link.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { createInProcess, listenLocally, openGround } from '../../test/http/in-process.ts';
import { createKey } from '../../tools/harness/service.ts';
import { runBench } from '../frame/frame.ts';
import { checkLongestSlice, LongestSlice } from '../frame/longest-slice.ts';
import { printTable } from '../frame/report.ts';
import { type Group, type GroupRun, RequestLoad } from '../load/request-load.ts';
import { buildWeightsData } from './data.ts';
import { type Case, listCases, ORDINARY } from './questions.ts';

/** Neither spent nor clipped by anything that is asked here. */
const LARGE_BUDGET = { weight: 1e12, periodMs: 86_400_000 };
const SMALL_BUDGET = { weight: 2, periodMs: 86_400_000 };
const SPENT_KEYS = 64;
const WARM_UP_ROUNDS = 3;
const SHORT = '--short';
const DURATIONS = { warmUp: 0.5, measured: 0.5, slices: 0.2 };
const SHORT_DURATIONS = { warmUp: 0.05, measured: 0.15, slices: 0.05 };
/** Beyond this many times an ordinary question the rule is broken. */
const TIMES_MAX = 8;
const SLICE_MS_MAX = 10;
/** What is refused for nothing may cost as much as the lightest answer. */
const FREE_WEIGHT = 2;

interface Figures {
  readonly microseconds: number;
  readonly weight: number;
  readonly sliceMs: number;
  readonly run: GroupRun;
}

class WeightsBench {
  readonly #client = new RequestLoad();
  readonly #budgets: Budgets;
  readonly #port: number;
  readonly #durations: typeof DURATIONS;
  readonly #slices = new LongestSlice();

  constructor(port: number, budgets: Budgets, durations: typeof DURATIONS) {
    this.#port = port;
    this.#budgets = budgets;
    this.#durations = durations;
  }

  async measure({ requests, connections = 8 }: Case): Promise<Figures> {
    const group: Group = { name: '', requests, connections };
    await this.#ask(group, this.#durations.warmUp);
    this.#budgets.takeCharges();
    const before = process.cpuUsage();
    const run = await this.#ask(group, this.#durations.measured);
    const { user, system } = process.cpuUsage(before);
    const charged = this.#budgets.takeCharges().reduce((sum, { weight }) => sum + weight, 0);
    this.#slices.start();
    await this.#ask(group, this.#durations.slices);
    const sliceMs = await this.#slices.stop();
    const microseconds = (user + system) / run.answered;
    return { microseconds, weight: charged / run.answered, sliceMs, run };
  }

  async #ask(group: Group, seconds: number): Promise<GroupRun> {
    const [run] = await this.#client.run({ port: this.#port, groups: [group], seconds });
    return run;
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }
}

function formatRow(
  { question, account }: Case,
  { microseconds, weight, sliceMs, run }: Figures,
  ordinary: number,
): string[] {
  const perWeight = microseconds / (weight < 0.5 ? FREE_WEIGHT : Math.max(1, weight));
  const times = perWeight / ordinary;
  const statuses = Object.keys(run.statuses).join(' ');
  return [
    question,
    account,
    statuses,
    `${run.bytes}`,
    microseconds.toFixed(0),
    formatWeight(weight),
    perWeight.toFixed(1),
    `${times.toFixed(1)}${times > TIMES_MAX ? ' !' : ''}`,
    `${sliceMs.toFixed(1)}${sliceMs > SLICE_MS_MAX ? ' !' : ''}`,
  ];
}

/** Charges are sums of fractions, and a bucket refills while it is measured. */
function formatWeight(weight: number): string {
  const rounded = Math.round(weight * 10) / 10;
  return `${Object.is(rounded, -0) ? 0 : rounded}`;
}

const TITLES = [
  ...['question', 'account', 'status', 'bytes', 'µs', 'weight', 'µs per weight', 'times ordinary'],
  'longest slice, ms',
];

await runBench(async ({ folder }) => {
  await checkLongestSlice();
  const args = process.argv.slice(2);
  const durations = args.includes(SHORT) ? SHORT_DURATIONS : DURATIONS;
  const texts = args.filter((text) => text !== SHORT);
  const budgets = new Budgets();
  const data = await buildWeightsData(folder);
  const key = await createKey(folder, LARGE_BUDGET);
  const spentKeys: string[] = [];
  while (spentKeys.length < SPENT_KEYS) spentKeys.push(await createKey(folder, SMALL_BUDGET));
  const ground = await openGround(folder);
  const ledger = await openEmbeddedLedger(folder);
  const history = new ArchiveLink(folder, { ledger, isKept: true, warn: console.log });
  const service = createInProcess(ground, { budgets, history, settings: { minHeightWait: 1000 } });
  const bench = new WeightsBench(await listenLocally(service.server), budgets, durations);
  while ((ground.live.state?.height ?? 0) < data.height) await sleep(20);
  const cases = listCases(data, { key, spentKeys });
  const chosen = cases.filter(
    ({ question, account }) =>
      texts.length === 0 || texts.some((text) => `${question} ${account}`.includes(text)),
  );
  const ordinaryCase = cases.find(({ question }) => question === ORDINARY) as Case;
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await bench.measure(ordinaryCase);
  const first = await bench.measure(ordinaryCase);
  const ordinary = first.microseconds / first.weight;
  console.log(`an ordinary clearinghouseState: ${ordinary.toFixed(1)} µs per weight\n`);
  const rows: string[][] = [];
  for (const each of chosen) rows.push(formatRow(each, await bench.measure(each), ordinary));
  printTable(TITLES, rows);
  await bench.stop();
  service.close();
  for (const opened of [history, ledger, ground]) await opened.close();
  return [];
});
