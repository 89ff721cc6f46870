import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { MAIN } from '../../tools/harness/paths.ts';
import {
  createPlaces,
  joinLines,
  type Outcome,
  Program,
  run,
} from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const file = place('blocks.ndjson');
writeFileSync(file, joinLines(simulateLines(1000)));

/** `script` of util-linux gives a program a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;
const options = { skip: hasScript ? false : 'script of util-linux is not installed' };
const longOptions = { ...LONG_ONLY, skip: LONG_ONLY.skip || options.skip };

/** The escape sequence that clears a line of progress. */
const CLEAR = '\r\x1b[K';

/** Runs the program on a terminal; `redirection` sends part of its output elsewhere. */
function runOnTerminal(args: string[], redirection = ''): Promise<Outcome> {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  const program = new Program(['script', '-qec', `${command} ${redirection}`, '/dev/null']);
  program.child.stdin.end();
  return program.ended;
}

/** The lines of progress, in order. */
function linesOfProgress(text: string): string[] {
  return text.split(CLEAR).slice(1);
}

test('append shows its progress, then only the result', options, async () => {
  const { code, stdout } = await runOnTerminal(['append', '--data', place(), file]);
  assert.equal(code, 0);
  const shown = linesOfProgress(stdout);
  assert.match(shown[0], /^appending: \d+\.\d MiB read \(\d+ %\), durable up to height \d+$/);
  assert.match(shown.at(-1) ?? '', /^perpinfo: appended 1000 durable blocks; .* height 1000\r\n$/);
});

test('simulate shows its progress while its output goes to a file', longOptions, async () => {
  const target = place('simulated.ndjson');
  const { code, stdout } = await runOnTerminal(['simulate', '--blocks', '2000'], `> '${target}'`);
  assert.equal(code, 0);
  const shown = linesOfProgress(stdout);
  assert.match(shown[0], /^simulating: block \d+ of 2000$/);
  assert.equal(shown.at(-1), '');
});

test('query and verify show the progress, then the answer alone', longOptions, async () => {
  const data = place();
  await run(['append', '--data', data, file]);
  for (const [args, answer] of [
    [['query', '{"type":"perpDeployAuctionStatus"}'], /^\{"startTimeSeconds":.*\}\r\n$/],
    [['verify'], /^height 1000\r\nhead .*\r\ndigest .*\r\n$/],
  ] as const) {
    const { code, stdout } = await runOnTerminal([...args, '--data', data]);
    assert.equal(code, 0);
    const shown = linesOfProgress(stdout);
    assert.match(shown[0], /^replaying the ledger: height \d+ of 1000 \(\d+ %\)$/);
    assert.match(shown.at(-1) ?? '', answer);
  }
});

test('archive and history show their progress on the terminal', longOptions, async () => {
  const [data, target] = [place(), place('history.csv')];
  await run(['append', '--data', data], { input: joinLines(simulateLines(1500)) });
  const archived = await runOnTerminal(['archive', '--data', data, '--once']);
  assert.equal(archived.code, 0);
  const steps = linesOfProgress(archived.stdout);
  assert.match(steps[0], /^archiving: height \d+ of 1500 \(\d+ %\)$/);
  assert.equal(steps.at(-1), 'perpinfo: archived up to height 1500\r\n');
  const args = ['history', '--data', data, '--user', `0x${'1'.repeat(40)}`, '--step', '10s'];
  const { code, stdout } = await runOnTerminal(args, `> '${target}'`);
  assert.equal(code, 0, stdout);
  const shown = linesOfProgress(stdout);
  assert.match(shown[0], /^reading the archive: \d+ %$/);
  assert.equal(shown.at(-1), '');
});

test('backup and restore show the progress of each step', longOptions, async () => {
  const [data, backup, target] = [place(), place('backup'), place()];
  await run(['append', '--data', data, file]);
  const steps = [
    [['backup', '--data', data, '--to', backup], 'backing up'],
    [['restore', '--from', backup, '--data', target], 'checking the backup'],
  ] as const;
  for (const [args, step] of steps) {
    const { code, stdout } = await runOnTerminal([...args]);
    assert.equal(code, 0);
    assert.match(linesOfProgress(stdout)[0], new RegExp(`^${step}: height \\d+ \\(\\d+ %\\)$`));
  }
});

test('without a terminal no progress is shown', LONG_ONLY, async () => {
  const appended = await run(['append', '--data', place(), file]);
  assert.match(appended.stdout, /^(durable \d+\n)*$/);
  assert.equal(
    appended.stderr,
    'perpinfo: appended 1000 durable blocks; the ledger is at height 1000\n',
  );
  const simulated = await run(['simulate', '--blocks', '300', '--accounts', '20']);
  assert.equal(simulated.stderr, '');
});
