/**
 * The private memory of every process of a service, by role. The metric does not use resident
 * memory, because resident memory includes mapped files. Processes share these files, and the
 * system frees their pages when it needs memory.
 */

import { readFile } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

export type ProcessRole = 'supervisor' | 'worker' | 'feed' | 'archiver';

export interface ServiceProcess {
  readonly role: ProcessRole;
  readonly pid: number;
}

/** The bytes of each kind of page. */
interface PrivateMemory {
  /** Pages of files that only this process maps. The system can free these pages. */
  readonly clean: number;
  readonly dirty: number;
}

/**
 * Returns undefined if the process has ended, or if the system has no file `smaps_rollup`.
 *
 * @internal Exported for its test.
 */
export async function readPrivateMemory(pid: number): Promise<PrivateMemory | undefined> {
  try {
    // The system walks all pages, which takes milliseconds. The asynchronous read does not block
    // the event loop.
    return parseRollup(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1'));
  } catch {
    return undefined;
  }
}

function parseRollup(text: string): PrivateMemory | undefined {
  const read = (name: string) => {
    const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text) ?? [];
    return Number(kibibytes) * 1024;
  };
  // Huge pages (Private_Hugetlb) have a separate line, which is not counted.
  const memory = { clean: read('Private_Clean'), dirty: read('Private_Dirty') };
  return Number.isFinite(memory.clean + memory.dirty) ? memory : undefined;
}

/**
 * The bytes by role, then by kind of page. On a system that does not report kinds of pages, the
 * only value is `resident`, of this process.
 */
type Totals = Map<ProcessRole, Partial<Record<keyof PrivateMemory | 'resident', number>>>;

async function addUp(processes: Iterable<ServiceProcess>): Promise<Totals> {
  const totals: Totals = new Map();
  for (const { role, pid } of processes) {
    const memory =
      (await readPrivateMemory(pid)) ??
      (pid === process.pid ? { resident: process.memoryUsage.rss() } : {});
    const total = totals.get(role) ?? {};
    totals.set(role, total);
    for (const [pages, bytes] of Object.entries(memory)) {
      const kind = pages as keyof typeof total;
      total[kind] = (total[kind] ?? 0) + bytes;
    }
  }
  return totals;
}

/**
 * Call this function in the process that has the admin port. `find` returns the processes that run
 * now.
 */
export function addMemoryMetrics(registry: Registry, find: () => Iterable<ServiceProcess>): void {
  let reading: Promise<Totals> | undefined;
  new Gauge({
    name: 'perpinfo_private_memory_bytes',
    help: 'Private memory of all processes of a role, by kind of page.',
    labelNames: ['role', 'pages'],
    registers: [registry],
    async collect() {
      // Collections at the same time wait for the same measurement.
      reading ??= addUp(find()).finally(() => {
        reading = undefined;
      });
      const totals = await reading;
      this.reset();
      for (const [role, kinds] of totals) {
        for (const [pages, bytes] of Object.entries(kinds)) this.set({ role, pages }, bytes);
      }
    },
  });
}
