/**
 * Measures what each question costs for the weight that is charged for it, compared with an
 * ordinary clearinghouseState:
 *
 *   npm run bench:weights                          every question, ten minutes
 *   npm run bench:weights -- --short               the same in three minutes, less exactly
 *   npm run bench:weights -- portfolio 'at a past' only questions with one of these texts
 *
 * One worker answers in this process, over sockets, and a client asks in another process. The
 * processor time is the time of this process, including garbage collection and the system's part.
 * In the first part the ledger does not grow. In the second part another process appends ten blocks
 * a second. The time for following these blocks is measured separately, and left out.
 */

import { runBench } from '../frame/frame.ts';
import { checkLongestSlice } from '../frame/longest-slice.ts';
import { median } from '../frame/measure.ts';
import { printTable } from '../frame/report.ts';
import { startWriter } from '../load/writer.ts';
import { buildWeightsData } from './data.ts';
import { formatRow, goalsOf, isBreach, type Row, TITLES } from './judgement.ts';
import {
  type Durations,
  type Figures,
  openWeightsService,
  type WeightsService,
} from './measure.ts';
import { listPushCases, type PushCase } from './push-cases.ts';
import { type Case, listCases, listPresentCases, ORDINARY } from './questions.ts';

const WARM_UP_ROUNDS = 3;
const SHORT = '--short';
const DURATIONS: Durations = { warmUp: 0.5, measured: 0.5, slices: 0.2 };
const SHORT_DURATIONS: Durations = { warmUp: 0.1, measured: 0.2, slices: 0.1 };
/** The number of further measurements of a figure that is beyond its limit. The median counts. */
const AGAIN = 4;
/**
 * The reference is measured again after this number of cases, because other programs may start and
 * end.
 */
const REFERENCE_EVERY = 8;
const REFERENCES = 5;

const args = process.argv.slice(2);
const texts = args.filter((text) => text !== SHORT);

function isChosen({ question, account }: Case | PushCase): boolean {
  return texts.length === 0 || texts.some((text) => `${question} ${account}`.includes(text));
}

/** Measures the cases, and compares each with an ordinary question. */
class Table {
  readonly rows: Row[] = [];
  readonly #service: WeightsService;
  readonly #reference: Case;
  /** The processor times of a unit of weight of an ordinary question, in microseconds. */
  readonly #references: number[] = [];
  #count = 0;

  constructor(service: WeightsService, reference: Case) {
    this.#service = service;
    this.#reference = reference;
  }

  async warmUp(): Promise<void> {
    for (let round = 0; round < WARM_UP_ROUNDS; round++) await this.#service.ask(this.#reference);
    for (let round = 0; round < REFERENCES; round++) await this.#measureReference();
  }

  async #measureReference(): Promise<void> {
    const { microseconds, weight } = await this.#service.ask(this.#reference);
    this.#references.push(microseconds / weight);
  }

  /** The median of the last references, because another program may disturb any of them. */
  get #ordinary(): number {
    return median(this.#references.slice(-REFERENCES));
  }

  async add(question: string, account: string, measure: () => Promise<Figures>): Promise<void> {
    if (this.#count++ % REFERENCE_EVERY === 0) await this.#measureReference();
    const row: Row = { question, account, rounds: [] };
    row.rounds.push({ ...(await measure()), ordinary: this.#ordinary });
    if (isBreach(row)) {
      for (let again = 0; again < AGAIN; again++) {
        await this.#measureReference();
        row.rounds.push({ ...(await measure()), ordinary: this.#ordinary });
      }
    }
    this.rows.push(row);
    console.log(`| ${formatRow(row).join(' | ')} |`);
  }

  async addAll(cases: readonly Case[], pushCases: readonly PushCase[], when = ''): Promise<void> {
    for (const each of cases.filter(isChosen)) {
      await this.add(`${each.question}${when}`, each.account, () => this.#service.ask(each));
    }
    for (const each of pushCases.filter(isChosen)) {
      await this.add(`${each.question}${when}`, each.account, () => this.#service.push(each));
    }
  }
}

await runBench(async (bench) => {
  await checkLongestSlice();
  const { folder } = bench;
  const data = await buildWeightsData(folder);
  const durations = args.includes(SHORT) ? SHORT_DURATIONS : DURATIONS;
  const service = await bench.keep(openWeightsService(folder, data, durations));
  const { keys } = service;
  const cases = listCases(data, keys);
  const table = new Table(service, cases.find(({ question }) => question === ORDINARY) as Case);
  await table.warmUp();
  await table.addAll(cases, listPushCases(data));
  await bench.keep(startWriter(folder));
  await service.measureFollowing();
  const when = ', while blocks come';
  await table.addAll(listPresentCases(data, keys), listPushCases(data), when);
  for (const [account, users] of [
    ['ordinary', data.allUsers],
    ['whales', data.allWhales],
  ] as const) {
    const question = 'push: an update of a subscription, while blocks come';
    if (!isChosen({ question, account, steps: [] })) continue;
    await table.add(question, account, () => service.update(users));
  }
  console.log('');
  printTable(TITLES, table.rows.map(formatRow));
  return goalsOf(table.rows);
});
