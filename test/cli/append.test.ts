import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { verifyDirectory } from '../../tools/harness/data-directory.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import {
  askedWrongly,
  createPlaces,
  done,
  failed,
  joinLines,
  run,
  runShell,
  start,
  succeed,
} from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { ALSO_LONG, LONG_ONLY, scale, shareOut } from '../scale.ts';

const place = createPlaces();
const lines = simulateLines(60);
/** Appended in many batches, so that a signal finds the writer at work. */
const many = simulateLines(scale(500, 500, 1500));
const expected = await appendAll();

function writeInput(text: string | Buffer): string {
  const file = place('blocks.ndjson');
  writeFileSync(file, text);
  return file;
}

/** Height, head and digest of all lines, appended undisturbed. */
async function appendAll() {
  const data = place();
  await run(['append', '--data', data, writeInput(joinLines(lines))]);
  return verifyDirectory(data);
}

test('a file is appended, acknowledged and counted', async () => {
  const outcome = await run(['append', '--data', place(), writeInput(joinLines(lines))]);
  const summary = 'perpinfo: appended 60 durable blocks; the ledger is at height 60\n';
  assert.deepEqual(outcome, done('durable 60\n', summary));
});

test('standard input is appended, whatever the pieces it comes in', async () => {
  const data = place();
  const program = start(['append', '--data', data]);
  const text = joinLines(lines);
  for (let offset = 0; offset < text.length; offset += 40_009) {
    program.child.stdin.write(text.slice(offset, offset + 40_009));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  program.child.stdin.end();
  const { code, stdout } = await program.ended;
  assert.equal(code, 0);
  assert.match(stdout, /^(durable \d+\n)*durable 60\n$/);
  assert.deepEqual(await verifyDirectory(data), expected);
});

test('acknowledgements that cannot be written end in an error', async () => {
  const data = place();
  const file = writeInput(joinLines(lines));
  const append = `perpinfo append --data "${data}" "${file}"`;
  const unwritten = await runShell(`${append} > /dev/full`);
  assert.equal(unwritten.code, 1);
  assert.match(unwritten.stderr, /appended 60 durable blocks; the ledger is at height 60\n/);
  assert.match(unwritten.stderr, /perpinfo: cannot write to standard output \(ENOSPC\)\n$/);
});

test('a reader of acknowledgements that stalls gets the newest one in the end', async () => {
  const data = place();
  const program = start(['append', '--data', data]);
  program.child.stdout.pause();
  const lineCount = 12_000;
  const text = Array.from({ length: lineCount }, (_, index) =>
    JSON.stringify({ height: index + 1, time: 1, events: [] }),
  );
  for (const line of text) {
    program.child.stdin.write(`${line}\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  program.child.stdin.end();
  program.child.stdout.resume();
  const { code, stdout } = await program.ended;
  assert.equal(code, 0);
  assert.match(stdout, /^(durable \d+\n)*durable 12000\n$/);
});

test('a live feed is acknowledged line by line, with its pipe still open', async () => {
  const program = start(['append', '--data', place()]);
  for (let height = 1; height <= 3; height++) {
    program.child.stdin.write(`${lines[height - 1]}\n`);
    await program.untilWritten(`durable ${height}\n`);
  }
  program.child.stdin.end();
  assert.equal((await program.ended).stdout, 'durable 1\ndurable 2\ndurable 3\n');
});

test('input without blocks makes an empty ledger', LONG_ONLY, async () => {
  for (const input of ['', '\n', ' \t\r\n\n  ']) {
    const data = place();
    const summary = 'perpinfo: appended nothing; the ledger is at height 0\n';
    assert.deepEqual(await run(['append', '--data', data], { input }), done('', summary));
    assert.equal((await verifyDirectory(data)).height, 0);
  }
});

test('blank lines and a missing last newline change nothing', async () => {
  const data = place();
  await run(['append', '--data', data], { input: `\n\n${lines.join('\n \t\n\n')}` });
  assert.deepEqual(await verifyDirectory(data), expected);
});

test('lines that end in carriage return and newline give the same state', async () => {
  const data = place();
  await run(['append', '--data', data], { input: lines.join('\r\n') });
  const { height, digest } = await verifyDirectory(data);
  assert.deepEqual({ height, digest }, { height: 60, digest: expected.digest });
});

test('an append continues where the last one ended', async () => {
  const data = place();
  for (let height = 0; height < 60; height += 20) {
    const input = joinLines(lines.slice(height, height + 20));
    const { stdout } = await run(['append', '--data', data], { input });
    assert.ok(stdout.endsWith(`durable ${height + 20}\n`));
  }
  assert.deepEqual(await verifyDirectory(data), expected);
});

const TIME = 1_758_556_800_000;

/** Blocks that are invalid at height 4, each with its error message. */
const BAD_BLOCKS: [what: string, line: string | Buffer, reason: string][] = [
  [
    'after a byte order mark',
    '\ufeff{"height":4}',
    'block: line: got "\\ufeff{\\"height\\":4}", expected one JSON object',
  ],
  ['not JSON', '{"height":4', 'block: line: got "{\\"height\\":4", expected one JSON object'],
  [
    'not UTF-8',
    Buffer.from('{"height":\xff}', 'latin1'),
    'block: line: got "{\\"height\\":ÿ}", expected valid UTF-8',
  ],
  [
    'out of order',
    `{"height":5,"time":${TIME},"events":[]}`,
    'block 5: height: got 5, expected 4, the next height',
  ],
  [
    'of an unknown coin',
    `{"height":4,"time":${TIME + 10 ** 9},"events":[{"type":"marks","prices":{"NOPE":"1.0"}}]}`,
    'block 4, event 0 (marks): prices: got "NOPE", expected a known coin',
  ],
];

for (const [what, line, reason] of BAD_BLOCKS) {
  test(`a block that is ${what} is refused with its line number, and the blocks before it are kept`, async () => {
    const data = place();
    const input = Buffer.concat([
      Buffer.from(`${joinLines(lines.slice(0, 2))}\n${lines[2]}\n`),
      Buffer.from(line),
      Buffer.from(`\n${joinLines(lines.slice(3))}`),
    ]);
    const { code, stdout, stderr } = await run(['append', '--data', data], { input });
    const summary = 'perpinfo: appended 3 durable blocks; the ledger is at height 3\n';
    assert.equal(code, 1);
    assert.match(stdout, /^(durable [12]\n)*durable 3\n$/);
    assert.equal(stderr, `${summary}perpinfo: line 5: ${reason}\n`);
    await run(['append', '--data', data], { input: joinLines(lines.slice(3)) });
    assert.deepEqual(await verifyDirectory(data), expected);
  });
}

test('a block from the far future is refused, and the honest one after it is taken', async () => {
  const data = place();
  const nowMs = Date.now();
  const line = (height: number, time: number) =>
    `{"height":${height},"time":${time},"events":[]}\n`;
  const input = line(1, nowMs) + line(2, nowMs * 1000);
  const { code, stderr } = await run(['append', '--data', data], { input });
  assert.equal(code, 1);
  const reason = `line 2: block 2: time: got ${nowMs * 1000}, expected at most 300000 ms ahead of`;
  assert.ok(stderr.includes(reason), stderr);
  const next = await run(['append', '--data', data], { input: line(2, nowMs + 60_000) });
  assert.equal(next.stdout, 'durable 2\n');
  const strict = ['append', '--data', data, '--ahead-max', '1000'];
  const early = await run(strict, { input: line(3, Date.now() + 90_000) });
  assert.match(
    early.stderr,
    /^perpinfo: line 1: block 3: time: got \d+, expected at most 1000 ms/m,
  );
  const any = ['append', '--data', data, '--ahead-max', '0'];
  assert.equal((await run(any, { input: line(3, nowMs * 1000) })).stdout, 'durable 3\n');
});

test('a ledger refuses the blocks that it already has', async () => {
  const data = place();
  const file = writeInput(`${lines[0]}\n`);
  await run(['append', '--data', data, file]);
  const again = await run(['append', '--data', data, file]);
  const summary = 'perpinfo: appended nothing; the ledger is at height 1\n';
  const reason = 'line 1: block 1: height: got 1, expected 2, the next height';
  assert.deepEqual(again, failed(`${summary}perpinfo: ${reason}\n`));
});

test('a line may be as long as --block-bytes-max says, and not longer', LONG_ONLY, async () => {
  const block = `{"height":1,"time":${TIME},"events":[]}`;
  const limit = ['--block-bytes-max', '1024'];
  const fits = block + ' '.repeat(1024 - block.length);
  const taken = await run(['append', '--data', place(), ...limit], { input: `${fits}\n` });
  assert.equal(taken.stdout, 'durable 1\n');
  for (const input of [`${fits} \n`, `${fits} `]) {
    const { code, stderr } = await run(['append', '--data', place(), ...limit], { input });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^perpinfo: line 1: longer than 1024 bytes, the maximum size of a block \(--block-bytes-max\)$/m,
    );
  }
});

test('whoever closes standard error wants no messages, and the work is done', async () => {
  const data = place();
  const file = writeInput(`${lines[0]}\n`);
  const { code, stdout } = await runShell(`perpinfo append --data ${data} ${file} 2> >(true)`);
  assert.deepEqual([code, stdout], [0, 'durable 1\n']);
});

test('the blocks before a line that is too long are appended', async () => {
  const data = place();
  const input = `${lines[0]}\n${lines[1]}\n${' '.repeat(100_000)}\n${lines[2]}\n`;
  const limit = ['--block-bytes-max', '65536'];
  const { code, stdout, stderr } = await run(['append', '--data', data, ...limit], { input });
  assert.equal(code, 1);
  assert.match(stdout, /^durable 2$/m);
  assert.match(stderr, /^perpinfo: line 3: longer than 65536 bytes/m);
});

test('a line that never ends is refused at the limit, not buffered', async () => {
  const program = start(['append', '--data', place()]);
  const piece = Buffer.alloc(1 << 16, 'x');
  let pieces = 0;
  let hasEnded = false;
  const feed = () => {
    while (!hasEnded && pieces < 100_000 && program.child.stdin.write(piece)) pieces++;
  };
  program.child.stdin.on('drain', feed);
  feed();
  const { code, stderr } = await program.ended;
  hasEnded = true;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^perpinfo: line 1: longer than 1048576 bytes, the maximum size of a block \(--block-bytes-max\)$/m,
  );
  assert.ok(pieces < 200, `${pieces} pieces were taken`);
});

test('a file that is not there, or is a folder, is refused', async () => {
  const missing = place('missing.ndjson');
  const folder = place('folder');
  mkdirSync(folder);
  assert.deepEqual(
    await run(['append', '--data', place(), missing]),
    askedWrongly(`FILE: there is no file ${missing}`),
  );
  assert.deepEqual(
    await run(['append', '--data', place(), folder]),
    askedWrongly(`FILE: ${folder} is a folder, expected a file`),
  );
});

test('a second writer is refused while the first one runs', LONG_ONLY, async () => {
  const data = place();
  const first = start(['append', '--data', data]);
  first.child.stdin.write(`${lines[0]}\n`);
  await first.untilWritten('durable 1\n');
  const second = await run(['append', '--data', data], { input: `${lines[1]}\n` });
  const reason = `another writer, process ${first.child.pid}, has this ledger open`;
  assert.deepEqual(second, failed(`perpinfo: ${reason}\n`));
  assert.equal((await verifyDirectory(data)).height, 1);
  first.child.stdin.end();
  assert.equal((await first.ended).code, 0);
  const third = await run(['append', '--data', data], { input: `${lines[1]}\n` });
  assert.equal(third.stdout, 'durable 2\n');
});

const SIGNALS: [signal: NodeJS.Signals, code: number][] = [
  ['SIGTERM', 143],
  ['SIGINT', 130],
];

for (const [signal, code] of shareOut(SIGNALS, 1)) {
  test(`${signal} ends a live feed with code ${code}, and loses nothing`, ALSO_LONG, async () => {
    const data = place();
    const program = start(['append', '--data', data]);
    program.child.stdin.write(`${joinLines(lines.slice(0, 5))}${lines[5].slice(0, 20)}`);
    await program.untilWritten('durable 5\n');
    program.child.kill(signal);
    const outcome = await program.ended;
    const summary = 'perpinfo: appended 5 durable blocks; the ledger is at height 5\n';
    assert.deepEqual([outcome.code, outcome.stderr], [code, summary]);
    await run(['append', '--data', data], { input: joinLines(lines.slice(5)) });
    assert.deepEqual(await verifyDirectory(data), expected);
  });

  test(`${signal} in the middle of a file keeps what was acknowledged`, ALSO_LONG, async () => {
    const data = place();
    const everySecond = ['--snapshot-every', '2'];
    const program = start(['append', '--data', data, ...everySecond, writeInput(joinLines(many))]);
    await program.untilWritten('durable ');
    program.child.kill(signal);
    assert.equal((await program.ended).code, code);
    const { height } = await verifyDirectory(data);
    assert.equal(height, program.acknowledged);
    assert.ok(height < many.length);
    await succeed(['append', '--data', data], { input: joinLines(many.slice(height)) });
    assert.equal((await verifyDirectory(data)).height, many.length);
  });
}

test('snapshots are written at every Nth height, and the newest are kept', async () => {
  const data = place();
  const settings = ['--snapshot-every', '7', '--snapshot-keep', '3'];
  await run(['append', '--data', data, ...settings], { input: joinLines(lines) });
  const names = readdirSync(path.join(data, 'snapshots')).sort();
  const heights = [42, 49, 56].map((height) => `${String(height).padStart(16, '0')}.snapshot`);
  assert.deepEqual(names, heights);
  assert.deepEqual(await verifyDirectory(data), expected);
});

test('a damaged snapshot costs a warning and time, and the append succeeds', async () => {
  const data = place();
  const settings = ['append', '--data', data, '--snapshot-every', '10'];
  await run(settings, { input: joinLines(lines.slice(0, 30)) });
  const newest = openSync(path.join(data, 'snapshots', `${'30'.padStart(16, '0')}.snapshot`), 'r+');
  writeSync(newest, 'damage', 200);
  closeSync(newest);
  const { code, stdout, stderr } = await run(settings, { input: joinLines(lines.slice(30)) });
  assert.deepEqual([code, stdout.split('\n').at(-2)], [0, 'durable 60']);
  assert.match(stderr, /^perpinfo: warning: the snapshot of height 30 is ignored: .*$/m);
});

test('a data folder that cannot be made is named', async () => {
  const file = writeInput('no folder');
  const { code, stdout, stderr } = await run(['append', '--data', file]);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^perpinfo: .*\n$/);
  assert.ok(stderr.includes(file));
});

test('an append continues when nobody reads its acknowledgements', LONG_ONLY, async () => {
  const data = place();
  const file = writeInput(joinLines(lines));
  const command = `"${process.execPath}" "${MAIN}" append --data "${data}" --snapshot-every 1`;
  const { code } = await runShell(`${command} "${file}" | head -n 1`);
  assert.equal(code, 0);
  assert.deepEqual(await verifyDirectory(data), expected);
});

test('a folder that cannot be made is refused in one line', async () => {
  const { code, stderr } = await run(['append', '--data', '/proc/nowhere/data']);
  assert.equal(code, 1);
  assert.match(stderr, /^perpinfo: cannot create the folder \/proc\/nowhere \(ENOENT\)\n$/);
});

test('SIGTERM ends an append that is blocked on its output', LONG_ONLY, async () => {
  const file = writeInput(joinLines(lines));
  const program = `"${process.execPath}" "${MAIN}" append --data "${place()}"`;
  const full = place('full.fifo');
  const { stdout } = await runShell(`
    mkfifo "${full}" && exec 3<>"${full}" && head -c 65536 /dev/zero >&3
    ${program} "${file}" >&3 & appending=$!
    sleep 2; kill -TERM $appending; wait $appending; echo "exit $?"`);
  assert.equal(stdout, 'exit 143\n');
});
