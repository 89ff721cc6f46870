/**
 * Measures replicas on NATS JetStream:
 *
 *   npm run bench:cluster              a few minutes
 *   npm run bench:cluster -- --quick   a trial run
 *
 * The benchmark measures how the total of answers grows from one replica to two. The reference is
 * two processes that share nothing and return a fixed body: if they do not gain more, the machine
 * does not allow more. The benchmark also measures the time from an append until the block is
 * visible on all replicas.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { openJetStreamKeys } from '../../src/access/jetstream/jetstream-keys.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { nextBlock } from '../../src/ledger/hash-chain.ts';
import { openJetStreamLedgerWriter } from '../../src/ledger/jetstream/jetstream-writer.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { natsOptions, startNats } from '../../test/cluster/nats-servers.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import { type Bench, runBench } from '../frame/frame.ts';
import { spreadOf } from '../frame/measure.ts';
import { formatSpread, printTable } from '../frame/report.ts';
import { requireTools } from '../frame/required-tools.ts';
import { Wrk } from '../load/wrk.ts';
import { buildLedger, randomQuestions, usersOf } from '../servers/dataset.ts';
import { askForAccount } from '../servers/exchange.ts';
import { type RunningServer, startFixedAnswer, startPerpinfo } from '../servers/servers.ts';

const POSITIONS_PER_ACCOUNT = 4;
const RETRY_MS = 10_000;
const FULL = { accounts: 20_000, rounds: 5, roundSeconds: 4, blocks: 500 };
const QUICK = { accounts: 2000, rounds: 2, roundSeconds: 1, blocks: 50 };
type Scale = typeof FULL;

interface Pair {
  readonly name: string;
  readonly servers: readonly RunningServer[];
  readonly one: number[];
  readonly two: number[];
}

async function createKey(address: string): Promise<string> {
  const store = await openJetStreamKeys(natsOptions(address));
  const terms = { label: 'bench', budget: undefined, expiresMs: undefined };
  const { secret } = await store.create(terms);
  await store.close();
  return secret;
}

/** Measures in turns, so that other work of the machine affects all contestants in the same way. */
async function measureGrowth(pairs: readonly Pair[], wrk: Wrk, scale: Scale): Promise<void> {
  for (let round = -1; round < scale.rounds; round++) {
    for (const { servers, one, two } of pairs) {
      const ports = servers.map(({ port }) => port);
      const alone = await wrk.measureTogether(ports.slice(0, 1), scale.roundSeconds);
      const together = await wrk.measureTogether(ports, scale.roundSeconds);
      if (round === -1) continue; // To warm up.
      one.push(alone);
      two.push(together);
    }
  }
}

function reportGrowth(pairs: readonly Pair[]): void {
  const rows = pairs.map(({ name, one, two }) => {
    const growth = spreadOf(two.map((together, index) => together / one[index]));
    const medians = [one, two].map((rates) => spreadOf(rates).median.toFixed(0));
    return [name, ...medians, formatSpread(growth, 2)];
  });
  printTable(['', 'one, req/s', 'two, req/s', 'growth'], rows);
}

/** Resolves when a replica answers from the height or a later one. */
function askFrom(port: number, agent: Agent, secret: string, height: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'Ledger-Min-Height': String(height) };
    const options = { host: '127.0.0.1', port, agent, method: 'POST', headers };
    const sent = request({ ...options, path: `/${secret}/info` }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end('{"type":"exchangeStatus"}');
  });
}

/**
 * Measures the time from the append of a block until all replicas answer from it, and until it is
 * stored.
 */
async function measureDelay(
  writer: LedgerWriter,
  servers: readonly RunningServer[],
  secret: string,
  blocks: number,
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const visibleMs: number[] = [];
  const storedMs: number[] = [];
  let head = await writer.head();
  for (let count = 0; count < blocks; count++) {
    const line = `{"height":${head.height + 1},"time":${Date.now()},"events":[]}`;
    const block = nextBlock(head, Buffer.from(line));
    const asked = servers.map(({ port }) => askFrom(port, agent, secret, block.height));
    await new Promise((resolve) => setTimeout(resolve, 20)); // Until all of them are waiting.
    const startedMs = performance.now();
    const stored = writer.append([block]).then(() => storedMs.push(performance.now() - startedMs));
    await Promise.all(asked);
    visibleMs.push(performance.now() - startedMs);
    await stored;
    head = block;
  }
  agent.destroy();
  report('append to acknowledged', storedMs);
  report('append to visible on all replicas', visibleMs);
}

function report(name: string, values: number[]): void {
  values.sort((a, b) => a - b);
  const at = (share: number) => values[Math.floor((values.length - 1) * share)].toFixed(1);
  console.log(`${name.padEnd(34)}p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, of ${values.length}`);
}

async function run(bench: Bench, scale: Scale): Promise<void> {
  const { folder } = bench;
  const nats = await bench.keep(startNats());
  const address = nats.address('bench');
  const { state } = await buildLedger(folder, scale.accounts, POSITIONS_PER_ACCOUNT);
  execFileSync(process.execPath, [MAIN, 'copy', '--from', folder, '--to', address], {
    stdio: 'ignore',
  });
  const secret = await createKey(address);
  const [question] = randomQuestions(state, 1);
  const bodyFile = path.join(folder, 'body.json');
  writeFileSync(bodyFile, answerQuestion(state, question));
  // The flags prevent refusals on a busy machine, which are not what is measured.
  const patience = ['--min-height-wait', '5000', '--overload-delay', '60000'];
  const flags = ['--ledger', address, ...patience];
  const writer = await openJetStreamLedgerWriter({ ...natsOptions(address), retryMs: RETRY_MS });
  bench.after(() => writer.close());
  const replicas: RunningServer[] = [];
  const fixed: RunningServer[] = [];
  for (const name of ['a', 'b']) {
    const start = startPerpinfo(path.join(folder, name), { workers: 1, flags });
    replicas.push(await bench.keep(start));
    fixed.push(await bench.keep(startFixedAnswer('node', bodyFile)));
  }
  const pairs: Pair[] = [
    { name: 'replicas on NATS', servers: replicas, one: [], two: [] },
    { name: 'independent processes, fixed body', servers: fixed, one: [], two: [] },
  ];
  const bodies = usersOf(state).map(askForAccount);
  const wrk = new Wrk({ folder, name: 'load', bodies, requestPath: `/${secret}/info` });
  await measureGrowth(pairs, wrk, scale);
  reportGrowth(pairs);
  console.log('');
  await measureDelay(writer, replicas, secret, scale.blocks);
}

requireTools('wrk', 'nats-server');
await runBench(async (bench) => {
  await run(bench, process.argv.includes('--quick') ? QUICK : FULL);
  return [];
});
