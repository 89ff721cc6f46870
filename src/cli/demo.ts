/** `perpinfo demo`: a simulated exchange, live, with the service on it. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Budgets } from '../access/budgets.ts';
import { openKeyStore } from '../access/embedded-keys.ts';
import { readSettings } from '../config/read-settings.ts';
import { UsageError } from '../config/usage-error.ts';
import { formatAddress } from '../exact/address.ts';
import { LiveSimulation } from '../feed/live-simulation.ts';
import { createSimulator } from '../feed/simulator/simulator.ts';
import { answerQuestion } from '../info/registry.ts';
import { openEmbeddedLedgerWriter } from '../ledger/embedded/embedded-writer.ts';
import { makeFolder } from '../ledger/embedded/folder.ts';
import { restoreReplica } from '../replica/replica.ts';
import { SnapshotFolder } from '../replica/snapshot-folder.ts';
import { formatOrigin } from '../service/origin.ts';
import { ANSWERING_SETTINGS, runWorker } from '../service/worker.ts';
import type { StateView } from '../state/state.ts';
import type { Call, Command } from './command.ts';
import { createLog } from './log.ts';
import { reportRestore } from './restore.ts';

const settings = ['port', 'host', 'seed', 'demoAccounts', 'keptData', 'noAuction'] as const;
type DemoCall = Call<(typeof settings)[number]>;

/** About ten blocks a second. */
const INTERVAL_MS = 100;
/** Short enough to be watched from start to end. */
const AUCTION_DURATION_SECONDS = 600;
const STOP_TIMEOUT_MS = 2_000;
const KEY_LABEL = 'demo';
const STANDARD_ERROR = 2;
/** What the demo leaves no choice of. */
const FIXED_SETTINGS = {
  ledger: undefined,
  natsReplicas: 1,
  natsCreds: undefined,
  natsCa: undefined,
  stopTimeout: STOP_TIMEOUT_MS,
} as const;

export const demo: Command<(typeof settings)[number]> = {
  name: 'demo',
  summary: 'Runs a simulated exchange, live, and answers questions about it.',
  settings,
  details:
    'Prints an endpoint with its key, example users and lines for the shell that work. Ctrl-C ends it.',
  example: 'perpinfo demo --port 8080 --seed 7',
  isService: true,
  async run(call) {
    const { keptData } = call.settings;
    const directory = keptData ?? mkdtempSync(path.join(tmpdir(), 'perpinfo-demo-'));
    claimFolder(directory);
    try {
      await runDemo(directory, call);
    } finally {
      if (keptData === undefined) rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** The demo writes to its ledger: it never takes one that is not its own. */
function claimFolder(directory: string): void {
  const mark = path.join(directory, 'demo');
  if (existsSync(mark)) return;
  if (existsSync(path.join(directory, 'ledger'))) {
    throw new UsageError([`--data: ${directory} holds a ledger that is not a demo's`]);
  }
  makeFolder(directory);
  writeFileSync(mark, 'This folder was made by perpinfo demo.\n');
}

async function runDemo(directory: string, call: DemoCall): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(directory);
  try {
    const snapshots = new SnapshotFolder(directory);
    const replica = await restoreReplica({ ledger, snapshots, ...reportRestore(call) });
    const head = replica.point;
    const { seed, demoAccounts, noAuction } = call.settings;
    const simulator = createSimulator({
      seed,
      accounts: demoAccounts,
      auctions: !noAuction,
      auctionDurationSeconds: AUCTION_DURATION_SECONDS,
      resume: replica.release(),
    });
    const policy = readSettings(['snapshotEvery', 'snapshotKeep']);
    const { warn } = reportRestore(call);
    const simulation = new LiveSimulation(
      { simulator, ledger, snapshots, ...policy, warn, intervalMs: INTERVAL_MS },
      head,
    );
    await simulation.setUp();
    const secret = await createDemoKey(directory);
    const listening = (port: number) => {
      const text = describeDemo({ call, port, secret, state: simulator.state });
      void call.terminal.write(text);
    };
    await runAll(call.signal, [
      (signal) => simulation.run(signal),
      (signal) => serveDemo({ directory, call, signal, listening }),
    ]);
  } finally {
    await ledger.close();
  }
}

/** Runs parts until the signal, or until one of them ends: then the others are stopped too. */
async function runAll(
  signal: AbortSignal,
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const end = new AbortController();
  const stop = AbortSignal.any([signal, end.signal]);
  const runs = parts.map((part) => part(stop).finally(() => end.abort()));
  await Promise.allSettled(runs);
  await Promise.all(runs);
}

/** A secret cannot be shown twice, so every run has a key of its own and ends those before it. */
async function createDemoKey(directory: string): Promise<string> {
  const store = await openKeyStore(directory);
  try {
    for (const { id, label } of await store.list()) if (label === KEY_LABEL) store.revoke(id);
    return store.create({ label: KEY_LABEL, budget: undefined, expiresMs: undefined }).secret;
  } finally {
    await store.close();
  }
}

interface Serving {
  readonly directory: string;
  readonly call: DemoCall;
  readonly signal: AbortSignal;
  listening(port: number): void;
}

function serveDemo({ directory, call, signal, listening }: Serving): Promise<void> {
  const { host, port } = call.settings;
  const chosen = readSettings([...ANSWERING_SETTINGS, 'snapshotEvery', 'snapshotKeep']);
  return runWorker({
    settings: { ...chosen, ...FIXED_SETTINGS, data: directory, host, port },
    log: createLog({ logLevel: 'warn', logFormat: 'auto' }, STANDARD_ERROR),
    signal,
    budgets: new Budgets(),
    listening,
  });
}

interface Description {
  readonly call: DemoCall;
  readonly port: number;
  readonly secret: string;
  readonly state: StateView;
}

/** So many users are looked through for examples, however many there are. */
const EXAMPLES_AMONG = 2_000;

interface Examples {
  readonly trader: string;
  readonly staker: string;
  /** Has positions on a second dex too. */
  readonly spreader: string;
  /** Has the most positions on the first dex. */
  readonly collector: string;
}

/** One with several positions and stakes too, another one with stakes, and two that show more. */
function findExamples(state: StateView): Examples {
  const count = Math.min(EXAMPLES_AMONG, state.addresses.table.rowCount - 1);
  const users = Array.from({ length: count }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  const ask = (question: object) => JSON.parse(answerQuestion(state, question));
  const counts = state.markets.dexes.map(({ name: dex }) => {
    const type = 'clearinghouseState';
    return users.map((user): number => ask({ type, user, dex }).assetPositions.length);
  });
  const [onFirst, ...onOthers] = counts;
  const pick = (index: number) => users[Math.max(0, index)];
  const isStaker = (user: string) => ask({ type: 'delegations', user }).length > 0;
  const traders = users.filter((_, i) => onFirst[i] >= 2 && onFirst[i] <= 6);
  return {
    trader: traders.find(isStaker) ?? traders[0] ?? users[0],
    staker: users.findLast(isStaker) ?? users[0],
    spreader: pick(users.findIndex((_, i) => onFirst[i] > 0 && onOthers.some((on) => on[i] > 1))),
    collector: pick(onFirst.indexOf(Math.max(...onFirst))),
  };
}

function describeDemo({ call, port, secret, state }: Description): string {
  const { host, keptData } = call.settings;
  const address = formatOrigin(host, port);
  const { trader, staker, spreader, collector } = findExamples(state);
  const users = new Set([trader, collector, spreader, staker]);
  const question = JSON.stringify({ type: 'clearinghouseState', user: trader });
  const kept = keptData === undefined ? 'everything is deleted then' : `all is kept in ${keptData}`;
  return `perpinfo demo: a simulated exchange, about ten blocks a second

  dashboard ${address}/#key=${secret}&users=${[...users]}
  endpoint  ${address}/${secret}/info
  clients   ${address}/${secret}/ (their base address; keep the slash at its end)
  users     ${trader} (trades)
            ${staker} (stakes)

  export BASE=${address}/${secret}/
  curl -s "\${BASE}info" -H 'Content-Type: application/json' -d '${question}'

Ctrl-C ends it; ${kept}.
`;
}
