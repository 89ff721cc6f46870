/** The service in the process of the test, so that one of its parts can be made to misbehave. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { readSettings, type Settings } from '../../src/config.ts';
import { Admission } from '../../src/http/admission.ts';
import { KeyRing, openKeyStore } from '../../src/http/keys.ts';
import { Budgets } from '../../src/http/limits.ts';
import { LiveState } from '../../src/http/live-state.ts';
import { LoadGauge } from '../../src/http/load.ts';
import { Metrics } from '../../src/http/metrics.ts';
import { Push } from '../../src/http/push/push.ts';
import { createService } from '../../src/http/server.ts';
import { ANSWERING_SETTINGS } from '../../src/http/worker.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { SnapshotFolder } from '../../src/ledger/snapshots.ts';
import { type Cleanup, type PreparedData, prepareData } from './service.ts';

interface Changes {
  readonly settings?: Partial<Settings<(typeof ANSWERING_SETTINGS)[number]>>;
  readonly budgets?: Budgets;
  /** Stands in for the ledger, or stands before it. */
  wrapLedger?(ledger: Ledger): Ledger;
}

export interface ServiceInProcess extends PreparedData {
  readonly port: number;
  readonly registry: Registry;
}

export async function startInProcess(
  context: Cleanup,
  {
    settings: changed = {},
    budgets = new Budgets(),
    wrapLedger = (ledger) => ledger,
  }: Changes = {},
): Promise<ServiceInProcess> {
  const data = await prepareData(context);
  const registry = new Registry();
  const settings = { ...readSettings(ANSWERING_SETTINGS, new Map(), {}), maxAge: 0, ...changed };
  const store = await openKeyStore(data.folder);
  const ledger = await openEmbeddedLedger(data.folder);
  const keys = new KeyRing(store);
  const load = new LoadGauge(settings.overloadDelay);
  const live = new LiveState({
    ledger: wrapLedger(ledger),
    snapshots: new SnapshotFolder(data.folder),
    maxAgeMs: settings.maxAge,
    warn: () => undefined,
    advanced: () => push.advance(),
  });
  const metrics = new Metrics(registry);
  const log = pino({ level: 'silent' });
  const admission = new Admission({ live, keys, budgets, load, settings });
  const push = new Push({ live, keys, admission, metrics, log, settings });
  const server = createService({ live, admission, push, metrics, log, settings });
  const stopping = new AbortController();
  const following = live.run(stopping.signal).catch(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    stopping.abort();
    push.close();
    server.close();
    server.closeAllConnections();
    await following;
    load.close();
    keys.close();
    await store.close();
    await ledger.close();
  });
  return { ...data, registry, port: (server.address() as AddressInfo).port };
}
