/** `perpinfo demo`: a live simulated exchange, and a service that answers from it. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Logger } from 'pino';
import { Budgets } from '../../access/budgets.ts';
import { openEmbeddedKeys } from '../../access/embedded/embedded-keys.ts';
import { hashSecret } from '../../access/keys.ts';
import { readSettings } from '../../config/read-settings.ts';
import { UsageError } from '../../config/usage-error.ts';
import { BlockWriter } from '../../feed/block-writer.ts';
import { createSetUpFeed, createTradingFeed, SimulatedState } from '../../feed/live-simulator.ts';
import { HTTP_SETTINGS } from '../../http/settings.ts';
import { openEmbeddedLedgerWriter } from '../../ledger/embedded/embedded-writer.ts';
import { makeFolder } from '../../ledger/embedded/folder.ts';
import type { LedgerWriter } from '../../ledger/ledger.ts';
import { restoreReplica } from '../../replica/replica.ts';
import { SNAPSHOT_SETTINGS } from '../../replica/settings.ts';
import { SnapshotFolder } from '../../replica/snapshot-folder.ts';
import { runArchiverProcess } from '../../service/archiver-process.ts';
import { createLog, STANDARD_ERROR } from '../../service/logging/log.ts';
import { LISTEN_SETTINGS } from '../../service/settings.ts';
import { runWorker } from '../../service/worker.ts';
import { createSimulator, type Simulator } from '../../simulator/simulator.ts';
import type { Call, Command } from '../command.ts';
import { describeDemo } from '../demo-greeting.ts';
import { reportReplay } from '../replay-report.ts';
import { DEMO_SETTINGS, SEED_SETTINGS } from '../settings.ts';

const settings = { ...LISTEN_SETTINGS, ...SEED_SETTINGS, ...DEMO_SETTINGS };
type DemoCall = Call<typeof settings>;

/** The interval between two blocks: about ten blocks a second. */
const INTERVAL_MS = 100;
/** The auction is short enough to watch it from start to end. */
const AUCTION_DURATION_SECONDS = 600;
/** The demo stops after this time, even if a client does not read its answer. */
const DEMO_LIMITS = { stopTimeout: 2_000 };
const KEY_LABEL = 'demo';
const KEY_FILE = 'demo-key';
/** Worker settings that the demo does not expose. */
const FIXED_SETTINGS = {
  ledger: undefined,
  natsReplicas: 1,
  natsCreds: undefined,
  natsCa: undefined,
  archive: true,
} as const;

export const demo: Command<typeof settings> = {
  name: 'demo',
  summary: 'Runs a live simulated exchange, and answers questions about it.',
  settings,
  details:
    'Prints an endpoint with its key, example users and shell commands to try. Ctrl-C stops it.',
  example: 'perpinfo demo --port 8080 --seed 7',
  isService: true,
  async run(call) {
    const { demoData } = call.settings;
    const directory = demoData ?? mkdtempSync(path.join(tmpdir(), 'perpinfo-demo-'));
    await claimFolder(directory);
    try {
      await runDemo(directory, call);
    } finally {
      if (demoData === undefined) rmSync(directory, { recursive: true, force: true });
    }
  },
};

/**
 * Marks the folder as a folder of the demo. The demo writes to its ledger, so it refuses a folder
 * whose ledger was not created by a demo.
 */
async function claimFolder(directory: string): Promise<void> {
  const mark = path.join(directory, 'demo');
  if (existsSync(mark)) return;
  if (existsSync(path.join(directory, 'ledger'))) {
    throw new UsageError([
      `--data: ${directory} holds a ledger that no demo created; choose another folder`,
    ]);
  }
  await makeFolder(directory);
  writeFileSync(mark, 'This folder was created by perpinfo demo.\n');
}

async function runDemo(directory: string, call: DemoCall): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(directory);
  try {
    const { simulator, writer } = await resumeExchange(directory, ledger, call);
    await writer.run(createSetUpFeed(simulator), call.signal);
    const secret = await openDemoKey(directory);
    const listening = (port: number) => {
      const text = describeDemo({ ...call.settings, port, secret, state: simulator.state });
      return call.terminal.write(text);
    };
    const log = createLog({ logLevel: 'warn', logFormat: 'auto' }, STANDARD_ERROR);
    const archived = { ...FIXED_SETTINGS, data: directory, archiveDays: undefined };
    await runAll(call.signal, [
      (signal) => writer.run(createTradingFeed(simulator, INTERVAL_MS), signal),
      (signal) => serveDemo({ directory, call, log, signal, listening }),
      (signal) => runArchiverProcess({ settings: archived, log, signal }),
    ]);
  } finally {
    await ledger.close();
  }
}

/** Resumes the simulator from the state of the ledger, and creates the writer of its blocks. */
async function resumeExchange(
  directory: string,
  ledger: LedgerWriter,
  call: DemoCall,
): Promise<{ simulator: Simulator; writer: BlockWriter }> {
  const { seed, demoAccounts, noAuction } = call.settings;
  const snapshots = new SnapshotFolder(directory);
  const report = reportReplay(call);
  const replica = await restoreReplica({ ledger, snapshots, ...report });
  const simulator = createSimulator({
    seed,
    accounts: demoAccounts,
    auctions: !noAuction,
    auctionDurationSeconds: AUCTION_DURATION_SECONDS,
    resume: replica.release(),
  });
  const writer = new BlockWriter({
    ...readSettings(SNAPSHOT_SETTINGS),
    ledger,
    replica: new SimulatedState(simulator, replica.point),
    snapshots,
    aheadMsMax: 0,
    savesInBackground: true,
    warn: report.warn,
  });
  return { simulator, writer };
}

/** Runs the parts until the signal aborts. If one part ends, the other parts are stopped. */
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

/**
 * Reuses the key of an earlier run, so that an open dashboard page continues to work. The key store has only the hash
 * of the secret, so the secret is in a file that only its owner can read. Without that file, a new key is created.
 */
async function openDemoKey(directory: string): Promise<string> {
  const file = path.join(directory, KEY_FILE);
  const secretOfFile = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const store = await openEmbeddedKeys(directory);
  try {
    const keys = store.all().filter(({ label }) => label === KEY_LABEL);
    if (keys.some(({ secrets }) => secrets.some(({ hash }) => hash === hashSecret(secretOfFile)))) {
      return secretOfFile;
    }
    for (const { id } of keys) store.revoke(id);
    const terms = { label: KEY_LABEL, budget: undefined, expiresMs: undefined };
    const { secret } = store.create(terms);
    writeFileSync(file, secret, { mode: 0o600 });
    return secret;
  } finally {
    await store.close();
  }
}

interface Serving {
  readonly directory: string;
  readonly call: DemoCall;
  readonly log: Logger;
  readonly signal: AbortSignal;
  listening(port: number): Promise<void>;
}

function serveDemo({ directory, call, log, signal, listening }: Serving): Promise<void> {
  const { host, port } = call.settings;
  const chosen = readSettings({ ...HTTP_SETTINGS, ...SNAPSHOT_SETTINGS });
  return runWorker({
    settings: { ...chosen, ...FIXED_SETTINGS, data: directory, host, port },
    limits: DEMO_LIMITS,
    log,
    signal,
    budgets: new Budgets(),
    listening,
  });
}
