/**
 * Measures how fast the core is, compared with a reference on the same data in the same run:
 *
 *   npm run bench:core            with a million accounts, a few minutes
 *   npm run bench:core -- 50000   with fewer
 */

import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { runBench } from '../frame/frame.ts';
import { type Comparison, compare } from '../frame/measure.ts';
import { atLeast, atMost, comparedAtMost, formatSpread, type Goal } from '../frame/report.ts';
import { randomQuestions, setUpLines, tradingLines } from '../servers/dataset.ts';
import { runMillionStep } from '../service/start.ts';
import { measureGrowth } from './growth.ts';

const MILLION = 1_000_000;
const TRADING_ACCOUNTS = 1000;
const TRADING_BLOCKS = 1500;
const ANSWER_ACCOUNTS = 10_000;
const ANSWER_POSITIONS = 4;
const ANSWER_QUESTIONS = 20_000;

/** Compares parsing and applying blocks with JSON.parse of the same lines. */
function benchFold(): Goal[] {
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
  console.log(`${lines.length} blocks, ${megabytes} MB: ${rate} blocks/s applied`);
  return [comparedAtMost('parse and apply blocks / JSON.parse', 3, result)];
}

/** Compares computing answers with JSON.stringify of the same answers as finished objects. */
function benchAnswers(): Goal[] {
  const state = createState();
  for (const line of setUpLines(ANSWER_ACCOUNTS, ANSWER_POSITIONS)) {
    applyBlock(state, parseBlock(line));
  }
  const questions = randomQuestions(state, ANSWER_QUESTIONS);
  const answers = questions.map((question) => JSON.parse(answerQuestion(state, question)));
  // The byte length makes both sides build their complete text, as a server must to send it.
  const result = compare(
    () => {
      for (const question of questions) Buffer.byteLength(answerQuestion(state, question));
    },
    () => {
      for (const answer of answers) Buffer.byteLength(JSON.stringify(answer));
    },
  );
  const rate = Math.round(questions.length / result.ours);
  console.log(`${ANSWER_POSITIONS} positions an account: ${rate} answers/s`);
  return [comparedAtMost('compute an answer / JSON.stringify it', 3, result)];
}

/** Compares the longest pause of tables that grow in steps with growth in one go. */
function benchGrowth(): Goal[] {
  return measureGrowth().map(({ what, inSteps, inOneGo, ratios }) => {
    const [ours, theirs] = [inSteps, inOneGo].map((spread) => formatSpread(spread, 1));
    console.log(`${what}: at most ${ours} ms in steps, ${theirs} ms in one go`);
    return atMost(`longest time to ${what}, in steps / in one go`, 0.2, ratios);
  });
}

/** Measures memory, start and answers with a million accounts. */
function benchMillion(accounts: number, directory: string): Goal[] {
  const built = runMillionStep('build', directory, String(accounts));
  const size = (built.bytes / 1e6).toFixed(0);
  console.log(`${accounts} accounts: a ledger of ${built.height} blocks, ${size} MB`);
  const answer = runMillionStep('answer', directory) as Comparison & { questions: number };
  const microseconds = ((answer.ours / answer.questions) * 1e6).toFixed(1);
  console.log(`an answer with ${accounts} accounts: ${microseconds} µs`);
  const loaded = runMillionStep('load', directory);
  const replayed = runMillionStep('replay', directory);
  if (loaded.digest !== replayed.digest)
    throw new Error('the snapshot is not what the blocks give');
  console.log(`${loaded.accounts} accounts, ${loaded.positions} positions in memory`);
  const [replaySeconds, loadSeconds] = [replayed.seconds, loaded.seconds];
  console.log(`replay ${replaySeconds.toFixed(2)} s, snapshot ${loadSeconds.toFixed(2)} s`);
  return [
    comparedAtMost(`an answer with ${accounts} accounts / with 1000`, 1.3, answer),
    atMost('RssAnon after loading the snapshot', 600, [loaded.rssAnonBytes / 1e6], ' MB'),
    atLeast('replay the ledger / load the snapshot', 20, [replaySeconds / loadSeconds]),
  ];
}

const accounts = Number(process.argv[2] ?? MILLION);
await runBench(async ({ folder }) => [
  ...benchFold(),
  ...benchAnswers(),
  ...benchGrowth(),
  ...benchMillion(accounts, folder),
]);
