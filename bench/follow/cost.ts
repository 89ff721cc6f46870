/**
 * Measures the processor time of the follower's process for a mark that is pushed and recorded, and
 * for an account that is read, checked and recorded. The follower first follows only marks, and
 * then accounts, too. The time that the marks take in the first part is subtracted from the second
 * part.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningStub } from '../../tools/harness/running-stub.ts';
import type { Bench } from '../frame/frame.ts';
import { median, spreadOf } from '../frame/measure.ts';
import { cpuSeconds } from '../frame/process-usage.ts';
import { formatSpread, type Goal, stated } from '../frame/report.ts';
import { askForAll, type Following, startFollowing, startStub } from './stub.ts';

export interface CostScale {
  readonly accounts: number;
  readonly rounds: number;
  readonly seconds: number;
}

/** No budget limit, no users by push, and repeated reads of every account. */
const FLAGS = [...['--follow-budget', '0', '--follow-users-max', '0', '--follow-sweep', '1000']];
const BLOCK_MS = 100;
const MICROSECONDS = 1e6;

interface Work {
  readonly cpuSeconds: number;
  readonly marks: number;
  readonly reads: number;
}

export async function benchCost(bench: Bench, scale: CostScale): Promise<Goal[]> {
  const { accounts } = scale;
  const exchange = await startStub(bench, { accounts, intervalMs: BLOCK_MS });
  const following = await startFollowing(bench, exchange, FLAGS);
  const meter = new FollowerMeter(exchange.stub, exchange.file, following);
  const marksAlone = await meter.measure(scale);
  await askForAll(following, exchange.users);
  const withAccounts = await meter.measure(scale);
  const perMark = marksAlone.map((work) => work.cpuSeconds / work.marks);
  const markSeconds = median(perMark);
  const perRead = withAccounts.map(
    (work) => (work.cpuSeconds - work.marks * markSeconds) / work.reads,
  );
  const rates = withAccounts.map(({ reads }) => reads / scale.seconds);
  console.log(`${exchange.users.length} accounts, a block every ${BLOCK_MS} ms`);
  console.log(`${formatSpread(spreadOf(rates), 0)} accounts read a second`);
  return [
    inMicroseconds("the follower's processor time, µs a mark", perMark),
    inMicroseconds("the follower's processor time, µs an account read", perRead),
  ];
}

function inMicroseconds(figure: string, seconds: readonly number[]): Goal {
  return stated(
    figure,
    seconds.map((value) => value * MICROSECONDS),
    0,
  );
}

class FollowerMeter {
  readonly #stub: RunningStub;
  readonly #file: string;
  readonly #pid: number;

  constructor(stub: RunningStub, file: string, { service }: Following) {
    this.#stub = stub;
    this.#file = file;
    this.#pid = service.pid;
  }

  /** Measures the rounds, after a first round that does not count. */
  async measure({ rounds, seconds }: CostScale): Promise<Work[]> {
    const works: Work[] = [];
    await sleep(seconds * 1000);
    for (let round = 0; round < rounds; round++) {
      const before = await this.#read();
      await sleep(seconds * 1000);
      const after = await this.#read();
      works.push({
        cpuSeconds: after.cpuSeconds - before.cpuSeconds,
        marks: after.marks - before.marks,
        reads: after.reads - before.reads,
      });
    }
    return works;
  }

  async #read(): Promise<Work> {
    const { countByType } = (await this.#stub.report()).weight;
    return {
      cpuSeconds: cpuSeconds(this.#pid),
      marks: countMarks(this.#file),
      reads: countByType['clearinghouseState'] ?? 0,
    };
  }
}

/** Counts the marks in the exchange's ledger so far. The exchange pushes each mark. */
function countMarks(file: string): number {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.reduce((sum, line) => sum + countMarksOfLine(line), 0);
}

function countMarksOfLine(line: string): number {
  const { events } = JSON.parse(line) as { events: { type: string; prices?: object }[] };
  return events.reduce((sum, { prices }) => sum + Object.keys(prices ?? {}).length, 0);
}
