/** The service in the process of the test, so that one of its parts can be made to misbehave. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { readSettings } from '../../src/config.ts';
import { KeyRing, openKeyStore } from '../../src/http/keys.ts';
import { Budgets } from '../../src/http/limits.ts';
import { LiveState } from '../../src/http/live-state.ts';
import { LoadGauge } from '../../src/http/load.ts';
import { Metrics } from '../../src/http/metrics.ts';
import { createService, SERVICE_SETTINGS, type ServiceParts } from '../../src/http/server.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { SnapshotFolder } from '../../src/ledger/snapshots.ts';
import { type Cleanup, type PreparedData, prepareData } from './service.ts';

interface Changes {
  readonly settings?: Partial<ServiceParts['settings']>;
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
  const settings = { ...readSettings(SERVICE_SETTINGS, new Map(), {}), maxAge: 0, ...changed };
  const store = await openKeyStore(data.folder);
  const ledger = await openEmbeddedLedger(data.folder);
  const keys = new KeyRing(store);
  const load = new LoadGauge(settings.overloadDelay);
  const live = new LiveState({
    ledger: wrapLedger(ledger),
    snapshots: new SnapshotFolder(data.folder),
    maxAgeMs: settings.maxAge,
    warn: () => undefined,
    advanced: () => undefined,
  });
  const metrics = new Metrics(registry);
  const log = pino({ level: 'silent' });
  const server = createService({ live, keys, budgets, metrics, load, log, settings });
  const stopping = new AbortController();
  const following = live.run(stopping.signal).catch(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    stopping.abort();
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
