/** The service in the process of the test, so that one of its parts can be made to misbehave. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Admission } from '../../src/access/admission.ts';
import { Budgets } from '../../src/access/budgets.ts';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { KeyRing } from '../../src/access/key-ring.ts';
import { readSettings } from '../../src/config/read-settings.ts';
import { Answers } from '../../src/http/answering/answers.ts';
import type { HistorySource } from '../../src/http/answering/past-answers.ts';
import { createInfoServer } from '../../src/http/create-server.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import type { Reply } from '../../src/http/message/reply.ts';
import { Push } from '../../src/http/push/push.ts';
import { HTTP_SETTINGS, type HttpSettings } from '../../src/http/settings.ts';
import type { InfoServer } from '../../src/http/transport/node/info-server.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { LiveState } from '../../src/replica/live-state.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { LoadGauge } from '../../src/service/metrics/load-gauge.ts';
import { Metrics } from '../../src/service/metrics/metrics.ts';
import type { FollowerClient } from '../../src/upstream/channel/follower-client.ts';
import { checkAnswer } from '../../tools/harness/answer-checks.ts';
import { type Cleanup, type PreparedData, prepareData } from '../../tools/harness/service.ts';

export type ChangedSettings = Partial<HttpSettings>;

interface GroundChanges {
  /** Stands in for the ledger, or stands before it. */
  wrapLedger?(ledger: Ledger): Ledger;
  /** 0 for a ledger of any age. */
  readonly maxAgeMs?: number;
}

interface ServiceChanges {
  readonly settings?: ChangedSettings;
  readonly budgets?: Budgets;
  readonly follower?: FollowerClient;
  readonly history?: HistorySource;
  /** False where the time of an answer is measured: a check takes longer than the answer. */
  readonly isChecked?: boolean;
}

export type InProcessChanges = GroundChanges & ServiceChanges;

/** What services answer from: several of them may share it. */
export interface Ground {
  readonly live: LiveState;
  readonly keys: KeyRing;
  /** Called whenever the state has moved on. */
  readonly advanced: Set<() => void>;
  close(): Promise<void>;
}

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** Blocks of a test are old, and a machine that runs many tests at once keeps requests waiting. */
const PATIENT = { maxAge: 0, overloadDelay: 3_600_000 };

/** A service on shared ground, not yet listening. */
export interface Standing {
  readonly server: InfoServer;
  readonly push: Push;
  readonly registry: Registry;
  /** What it has logged, apart from information. */
  readonly logged: readonly LogLine[];
  close(): void;
}

export interface ServiceInProcess extends PreparedData {
  readonly port: number;
  readonly push: Push;
  readonly registry: Registry;
  readonly logged: readonly LogLine[];
}

/** Begins to follow the ledger of a folder. */
export async function openGround(
  folder: string,
  { wrapLedger = (ledger) => ledger, maxAgeMs = 0 }: GroundChanges = {},
): Promise<Ground> {
  const store = await openEmbeddedKeys(folder);
  const ledger = await openEmbeddedLedger(folder);
  const keys = new KeyRing(store, { warn: () => undefined, warnOfUse: () => undefined });
  const advanced = new Set<() => void>();
  const live = new LiveState({
    ledger: wrapLedger(ledger),
    snapshots: new SnapshotFolder(folder),
    maxAgeMs,
    warn: () => undefined,
    failed: assert.ifError,
    advanced: () => {
      for (const tell of advanced) tell();
    },
  });
  const stopping = new AbortController();
  const following = live.run(stopping.signal).catch(() => undefined);
  return {
    live,
    keys,
    advanced,
    async close() {
      stopping.abort();
      await following;
      await keys.close();
      await store.close();
      await ledger.close();
    },
  };
}

/** Answers that are checked against the schemas of their types. */
class CheckedAnswers extends Answers {
  override answer(...request: Parameters<Answers['answer']>): Reply | Promise<Reply> {
    const reply = super.answer(...request);
    return reply instanceof Promise ? reply.then(checkReply) : checkReply(reply);
  }
}

function checkReply(reply: Reply): Reply {
  const { status, type, isCsv, body } = reply;
  if (status === 200 && !isCsv) checkAnswer(type, String(body));
  return reply;
}

export function createInProcess(
  { live, keys, advanced }: Ground,
  changes: ServiceChanges = {},
): Standing {
  const { settings: changed, budgets = new Budgets(), follower, history } = changes;
  const registry = new Registry();
  const settings = {
    ...HTTP_LIMITS,
    ...readSettings(HTTP_SETTINGS, new Map(), {}),
    ...PATIENT,
    ...changed,
  };
  const load = new LoadGauge(settings.overloadDelay);
  const metrics = new Metrics(registry);
  const logged: LogLine[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => logged.push(JSON.parse(line)) });
  const admission = new Admission(keys, budgets);
  const shared = { live, admission, counters: metrics, log, settings };
  const AnswersClass = changes.isChecked === false ? Answers : CheckedAnswers;
  const answers = new AnswersClass({ ...shared, load, follower, history });
  const push = new Push({ ...shared, answers });
  const server = createInfoServer({ ...shared, answers, push, follower });
  const advance = () => push.advance();
  advanced.add(advance);
  return {
    server,
    push,
    registry,
    logged,
    close() {
      advanced.delete(advance);
      push.close();
      server.close();
      server.closeAllConnections();
      load.close();
    },
  };
}

/** Lets a service listen and returns its port. */
export async function listenLocally(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function startInProcess(
  context: Cleanup,
  changes: InProcessChanges = {},
): Promise<ServiceInProcess> {
  let close: () => Promise<void> = async () => undefined;
  // Registered first, so that all is closed before the folder is removed.
  context.after(() => close());
  const data = await prepareData(context);
  const ground = await openGround(data.folder, changes);
  const standing = createInProcess(ground, changes);
  close = async () => {
    standing.close();
    await ground.close();
  };
  const { server, push, registry, logged } = standing;
  return { ...data, push, registry, logged, port: await listenLocally(server) };
}
