/**
 * How fast the core is, beside something else on the same data in the same run:
 *
 *   npm run bench:core            with a million accounts, a few minutes
 *   npm run bench:core -- 50000   with fewer
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { parseBlock } from '../src/events/event.ts';
import { answerQuestion } from '../src/info/registry.ts';
import { applyBlock } from '../src/state/fold.ts';
import { createState } from '../src/state/state.ts';
import { randomQuestions, setUpLines, tradingLines } from './dataset.ts';
import { measureGrowth } from './growth.ts';
import { type Comparison, compare } from './measure.ts';
import { formatSpread } from './report.ts';
import { runMillionStep } from './start.ts';

const MILLION = 1_000_000;
const TRADING_ACCOUNTS = 1000;
const TRADING_BLOCKS = 1500;
const ANSWER_ACCOUNTS = 10_000;
const ANSWER_POSITIONS = 4;
const ANSWER_QUESTIONS = 20_000;

function report(what: string, result: string, goal: string, isMet: boolean): void {
  console.log(`${isMet ? 'met   ' : 'MISSED'} ${what.padEnd(52)} ${result}  (goal: ${goal})`);
}

function formatRatio({ ratio, ratioMin, ratioMax }: Comparison): string {
  return `${ratio.toFixed(2)} [${ratioMin.toFixed(2)} to ${ratioMax.toFixed(2)}]`;
}

/** Blocks parsed and applied, beside JSON.parse of the same lines. */
function benchFold(): void {
  const lines = tradingLines(TRADING_ACCOUNTS, TRADING_BLOCKS);
  const result = compare(
    () => {
      const state = createState();
      for (const line of lines) applyBlock(state, parseBlock(line));
    },
    () => {
      for (const line of lines) JSON.parse(line);
    },
  );
  const rate = Math.round(lines.length / result.ours);
  const megabytes = (lines.join('').length / 1e6).toFixed(1);
  console.log(`       ${lines.length} blocks, ${megabytes} MB: ${rate} blocks/s applied`);
  const what = 'parse and apply blocks / JSON.parse';
  report(what, formatRatio(result), 'at most 3', result.ratio <= 3);
}

/** Answers computed, beside JSON.stringify of the same answers as finished objects. */
function benchAnswers(): void {
  const state = createState();
  for (const line of setUpLines(ANSWER_ACCOUNTS, ANSWER_POSITIONS)) {
    applyBlock(state, parseBlock(line));
  }
  const questions = randomQuestions(state, ANSWER_QUESTIONS);
  const answers = questions.map((question) => JSON.parse(answerQuestion(state, question)));
  // Both sides are made to lay their text out in full, as sending it would.
  const result = compare(
    () => {
      for (const question of questions) Buffer.byteLength(answerQuestion(state, question));
    },
    () => {
      for (const answer of answers) Buffer.byteLength(JSON.stringify(answer));
    },
  );
  const rate = Math.round(questions.length / result.ours);
  console.log(`       ${ANSWER_POSITIONS} positions an account: ${rate} answers/s`);
  const what = 'compute an answer / JSON.stringify it';
  report(what, formatRatio(result), 'at most 3', result.ratio <= 3);
}

/** The longest pause while tables grow, beside growth in one go. */
function benchGrowth(): void {
  for (const { what, inSteps, inOneGo, ratio } of measureGrowth()) {
    const [ours, theirs] = [inSteps, inOneGo].map((spread) => formatSpread(spread, 1));
    console.log(`       ${what}: at most ${ours} ms in steps, ${theirs} ms in one go`);
    const figure = `longest time to ${what}, in steps / in one go`;
    report(figure, formatSpread(ratio, 3), 'at most 0.2', ratio.median <= 0.2);
  }
}

/** Memory, start and answers with a million accounts. */
function benchMillion(accounts: number, directory: string): void {
  const built = runMillionStep('build', directory, String(accounts));
  const size = (built.bytes / 1e6).toFixed(0);
  console.log(`       ${accounts} accounts: a ledger of ${built.height} blocks, ${size} MB`);
  const answer = runMillionStep('answer', directory) as Comparison & { questions: number };
  const microseconds = ((answer.ours / answer.questions) * 1e6).toFixed(1);
  console.log(`       an answer with ${accounts} accounts: ${microseconds} µs`);
  const what = `an answer with ${accounts} accounts / with 1000`;
  report(what, formatRatio(answer), 'at most 1.3', answer.ratio <= 1.3);
  const loaded = runMillionStep('load', directory);
  const replayed = runMillionStep('replay', directory);
  if (loaded.digest !== replayed.digest)
    throw new Error('the snapshot is not what the blocks give');
  const megabytes = loaded.rssAnonBytes / 1e6;
  console.log(`       ${loaded.accounts} accounts, ${loaded.positions} positions in memory`);
  report(
    'RssAnon after loading the snapshot',
    `${megabytes.toFixed(0)} MB`,
    'at most 600 MB',
    megabytes <= 600,
  );
  const speedUp = replayed.seconds / loaded.seconds;
  const times = `${speedUp.toFixed(1)} (${replayed.seconds.toFixed(2)} s / ${loaded.seconds.toFixed(2)} s)`;
  report('replay the ledger / load the snapshot', times, 'at least 20', speedUp >= 20);
}

const accounts = Number(process.argv[2] ?? MILLION);
console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0].model}`);
console.log('ratios are medians of rounds in turns, with the smallest and largest\n');
benchFold();
benchAnswers();
benchGrowth();
const directory = mkdtempSync(path.join(tmpdir(), 'perpinfo-bench-'));
try {
  benchMillion(accounts, directory);
} finally {
  rmSync(directory, { recursive: true });
}
