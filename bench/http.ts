/**
 * How fast the service is over HTTP, beside other servers under the same load in the same run:
 *
 *   npm run bench:http              with 100,000 accounts, a few minutes
 *   npm run bench:http -- --quick   with fewer, in short rounds: to see that it works
 *
 * The others compute nothing: they answer with one fixed body of the length of a typical answer.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { openKeyStore } from '../src/http/keys.ts';
import { buildLedger, findTypicalAnswer, usersOf } from './dataset.ts';
import { type Spread, spreadOf } from './measure.ts';
import { type RunningServer, startFixedAnswer, startNginx, startPerpinfo } from './servers.ts';
import { type Round, Wrk } from './wrk.ts';

const POSITIONS_PER_ACCOUNT = 4;
/** Is charged and never spent. */
const BUDGET = { weight: 1_000_000_000, periodMs: 1000 };
const EXIT_USAGE = 2;

const FULL = { accounts: 100_000, rounds: 5, roundSeconds: 4, warmUpSeconds: 3 };
const QUICK = { accounts: 2000, rounds: 3, roundSeconds: 1, warmUpSeconds: 1 };
type Scale = typeof FULL;

interface Contestant {
  readonly name: string;
  readonly server: RunningServer;
  readonly rounds: Round[];
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined;
}

/** Debian keeps nginx where only the administrator's shell looks. */
function requireTools(): void {
  process.env['PATH'] += `${path.delimiter}/usr/sbin`;
  const missing = ['nginx', 'wrk'].filter((program) => !isInstalled(program));
  if (missing.length === 0) return;
  console.error(`${missing.join(' and ')} not found; on Debian: apt-get install nginx wrk`);
  process.exit(EXIT_USAGE);
}

async function createKey(directory: string): Promise<string> {
  const store = await openKeyStore(directory);
  const { secret } = store.create({ label: 'bench', budget: BUDGET, expiresMs: undefined });
  await store.close();
  return secret;
}

/** Starts them one after the other; nginx is the first, the one that all are compared with. */
async function startContestants(folder: string, body: string, started: Contestant[]) {
  const bodyFile = path.join(folder, 'body.json');
  writeFileSync(bodyFile, body);
  const add = async (name: string, server: Promise<RunningServer>) =>
    started.push({ name, server: await server, rounds: [] });
  await add('nginx, fixed body', startNginx(folder, body));
  await add('node:http, fixed body', startFixedAnswer('node', bodyFile));
  await add('Fastify, fixed body', startFixedAnswer('fastify', bodyFile));
  await add('perpinfo serve', startPerpinfo(folder, { workers: 1 }));
  await add('perpinfo serve --workers 2', startPerpinfo(folder, { workers: 2 }));
}

/** In turns, so that whatever else the machine does meets all of them alike. */
function measureInTurns(contestants: readonly Contestant[], wrk: Wrk, scale: Scale): void {
  for (const { server } of contestants) wrk.measure(server.port, scale.warmUpSeconds);
  for (let round = 0; round < scale.rounds; round++) {
    for (const { server, rounds } of contestants) {
      rounds.push(wrk.measure(server.port, scale.roundSeconds));
    }
  }
}

function formatSpread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} [${min.toFixed(digits)} to ${max.toFixed(digits)}]`;
}

/** One figure of a contestant: as measured, and round by round as a ratio to nginx. */
function describeFigure(
  { rounds }: Contestant,
  nginx: Contestant,
  figure: keyof Round,
): { measured: Spread; ratio: Spread } {
  return {
    measured: spreadOf(rounds.map((round) => round[figure])),
    ratio: spreadOf(rounds.map((round, index) => round[figure] / nginx.rounds[index][figure])),
  };
}

const FIGURES = [
  { figure: 'requestsPerSecond', title: 'requests/s', digits: 0 },
  { figure: 'p50Ms', title: 'p50, ms', digits: 2 },
  { figure: 'p99Ms', title: 'p99, ms', digits: 2 },
] as const;

function report(contestants: readonly Contestant[]): void {
  const [nginx] = contestants;
  for (const { figure, title, digits } of FIGURES) {
    console.log(`\n${title.padEnd(28)}${'measured'.padEnd(28)}ratio to nginx`);
    for (const contestant of contestants) {
      const { measured, ratio } = describeFigure(contestant, nginx, figure);
      const left = contestant.name.padEnd(28) + formatSpread(measured, digits).padEnd(28);
      console.log(left + formatSpread(ratio, 2));
    }
  }
}

async function run(scale: Scale, folder: string): Promise<void> {
  const { state } = await buildLedger(folder, scale.accounts, POSITIONS_PER_ACCOUNT);
  const body = findTypicalAnswer(state);
  const { accounts, rounds, roundSeconds } = scale;
  console.log(`${accounts} accounts of ${POSITIONS_PER_ACCOUNT} positions, random users`);
  console.log(
    `a typical answer has ${Buffer.byteLength(body)} bytes; key with a budget, metrics on`,
  );
  console.log(`${rounds} rounds of ${roundSeconds} s in turns: medians, smallest and largest`);
  const wrk = new Wrk(folder, usersOf(state), `/${await createKey(folder)}/info`);
  const contestants: Contestant[] = [];
  try {
    await startContestants(folder, body, contestants);
    measureInTurns(contestants, wrk, scale);
    report(contestants);
  } finally {
    await Promise.all(contestants.map(({ server }) => server.stop()));
  }
}

requireTools();
console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0].model}, shared with the load`);
const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-bench-'));
try {
  await run(process.argv.includes('--quick') ? QUICK : FULL, folder);
} finally {
  rmSync(folder, { recursive: true });
}
