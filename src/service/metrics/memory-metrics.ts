/**
 * The private memory of every process of a service, by its role. Resident memory would count the files that
 * are mapped, which processes share and which the system takes back when it needs room.
 */

import { readFile } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

export type ProcessRole = 'supervisor' | 'worker' | 'feed' | 'archiver';

export interface ServiceProcess {
  readonly role: ProcessRole;
  readonly pid: number;
}

/** Bytes by kind of page. */
interface PrivateMemory {
  /** Pages of files that only this process maps: the system can take these pages back. */
  readonly clean: number;
  readonly dirty: number;
}

/**
 * Undefined if the process has ended, or the system has no such file.
 *
 * @internal Exported for its test.
 */
export async function readPrivateMemory(pid: number): Promise<PrivateMemory | undefined> {
  try {
    // The system walks all pages, which takes milliseconds: no event loop waits for it.
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
  // Huge pages have separate lines.
  const memory = { clean: read('Private_Clean'), dirty: read('Private_Dirty') };
  return Number.isFinite(memory.clean + memory.dirty) ? memory : undefined;
}

/**
 * The bytes by role, then by kind of page. On a system that does not report kinds, there is `resident` of
 * this process only.
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

/** Call this in the process with the admin port; `find` names the processes of this moment. */
export function addMemoryMetrics(registry: Registry, find: () => Iterable<ServiceProcess>): void {
  let reading: Promise<Totals> | undefined;
  new Gauge({
    name: 'perpinfo_private_memory_bytes',
    help: 'Private memory of all processes of a role, by kind of page.',
    labelNames: ['role', 'pages'],
    registers: [registry],
    async collect() {
      // Several readers at once wait for the same figures.
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
