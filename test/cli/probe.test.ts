/** `perpinfo probe` as a program: its report on the terminal and in a file, and how it is stopped. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, test } from 'node:test';
import { askedWrongly, run, start } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';

const KEY = 'a-vendors-secret';
let asked = 0;

const server = createServer((_, response) => {
  asked++;
  response.setHeader('Content-Type', 'application/json').end('[null]');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const { port } = server.address() as AddressInfo;
const variables = { PERPINFO_UPSTREAM: `http://127.0.0.1:${port}/${KEY}` };

test('the report is printed, and written to a file as JSON', async (t) => {
  const file = path.join(await makeTemporaryFolder(t), 'report.json');
  const { code, stdout, stderr } = await run(['probe', '--time', '1s', '--json', file], {
    variables,
  });
  assert.deepEqual([code, stderr], [0, '']);
  const report = JSON.parse(await readFile(file, 'utf8'));
  assert.equal(report.upstream, `http://127.0.0.1:${port}`);
  assert.match(stdout, /^perpinfo\/[\d.]+ probe of http:\/\/127\.0\.0\.1:\d+, from .*, 1 s$/m);
  assert.match(stdout, /^clearinghouseState +yes +differs +\d+ +-$/m);
  assert.ok(!stdout.includes(KEY) && !JSON.stringify(report).includes(KEY));
});

test('Ctrl-C ends a probe with the report so far', async () => {
  const before = asked;
  const program = start(['probe', '--time', '1h'], variables, 60_000);
  await until('a question', async () => asked > before);
  program.child.kill('SIGINT');
  const { code, stdout, stderr } = await program.ended;
  assert.deepEqual([code, stderr], [130, '']);
  assert.match(stdout, / s, stopped early$/m);
});

test('a probe takes an hour at most, and needs a server', async () => {
  const long = await run(['probe', '--time', '2h'], { variables });
  assert.deepEqual(long, askedWrongly('--time: got 7200000 ms, expected at most 1h'));
  assert.deepEqual(await run(['probe']), askedWrongly('--upstream URL is required'));
});
