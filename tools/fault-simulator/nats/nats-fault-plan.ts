/** Faults of the network, the servers and the clients of NATS, drawn from the seed. */

import type { LedgerRun } from './ledger-run.ts';

const QUIET_MS_MAX = 4_000;
const FAULT_MS_MAX = 14_000;

/** Starts a fault, and returns a function that ends it. */
type Fault = (run: LedgerRun) => () => void;

function pickClient({ kernel, writers, reader }: LedgerRun) {
  return kernel.random.pick([...writers, ...(reader === undefined ? [] : [reader])]);
}

function pickServer({ kernel, nats }: LedgerRun): number {
  return kernel.random.below(nats.servers.length);
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'slow network': ({ nats }) => {
    nats.faults.slowMsMax = 300;
    return () => nats.faults.mend();
  },
  'lost messages': ({ nats }) => {
    nats.faults.lossChance = 0.05;
    return () => nats.faults.mend();
  },
  'repeated messages': ({ nats }) => {
    nats.faults.duplicateChance = 0.1;
    return () => nats.faults.mend();
  },
  'cut connections': (run) => {
    run.nats.cutConnections(pickClient(run));
    return () => undefined;
  },
  'partitioned client': (run) => {
    const client = pickClient(run);
    run.nats.partition(client);
    return () => run.nats.rejoin(client);
  },
  'paused client': (run) => {
    const client = pickClient(run);
    run.kernel.pause(client);
    return () => run.kernel.resume(client);
  },
  'killed writer': (run) => {
    const index = run.kernel.random.below(run.writers.length);
    run.kernel.kill(run.writers[index]);
    return () => run.startWriter(index);
  },
  'killed server': (run) => {
    const server = run.nats.servers[pickServer(run)];
    server.kill();
    return () => server.start();
  },
  'paused server': (run) => {
    const server = run.nats.servers[pickServer(run)];
    const process = server.isUp ? server.process : undefined;
    if (process !== undefined) run.kernel.pause(process);
    return () => process !== undefined && run.kernel.resume(process);
  },
  'isolated server': (run) => {
    const server = pickServer(run);
    run.nats.isolate(server);
    return () => run.nats.reunite(server);
  },
  'no quorum': ({ nats }) => {
    nats.loseQuorum();
    return () => {
      for (const index of nats.servers.keys()) nats.reunite(index);
    };
  },
};

/** Starts one fault after the other, and sometimes two at once. */
export function planFaults(run: LedgerRun): void {
  const { kernel } = run;
  const again = () => {
    if (run.isMended) return;
    const name = kernel.random.pick(Object.keys(FAULTS));
    kernel.trace(`fault: ${name}`);
    run.faultCounts.set(`fault: ${name}`, (run.faultCounts.get(`fault: ${name}`) ?? 0) + 1);
    const end = FAULTS[name](run);
    kernel.schedule(kernel.random.between(0, FAULT_MS_MAX), end, kernel.world);
    kernel.schedule(kernel.random.between(0, FAULT_MS_MAX + QUIET_MS_MAX), again, kernel.world);
  };
  kernel.schedule(kernel.random.between(0, QUIET_MS_MAX), again, kernel.world);
}
