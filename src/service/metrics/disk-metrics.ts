/**
 * The metrics of the disk. Every worker measures the same disk, so the values of the workers are
 * not added up.
 */

import { Gauge, type Registry } from 'prom-client';
import type { DiskReport } from '../../http/pages/health.ts';

const GAUGES: readonly {
  readonly name: string;
  readonly help: string;
  read(report: DiskReport): number | null;
}[] = [
  {
    name: 'perpinfo_data_bytes',
    help: 'Size of the data folder: the ledger, the archive, snapshots and keys.',
    read: ({ bytes }) => bytes,
  },
  {
    name: 'perpinfo_data_growth_bytes_per_day',
    help: 'How much the data folder grows in a day, at the pace of the last hours.',
    read: ({ dayBytes }) => dayBytes,
  },
  {
    name: 'perpinfo_disk_free_bytes',
    help: 'What is free on the disk of the data folder.',
    read: ({ freeBytes }) => freeBytes,
  },
  {
    name: 'perpinfo_disk_days_left',
    help: 'In how many days the disk is full at that pace; absent while the folder does not grow.',
    read: ({ daysLeft }) => daysLeft,
  },
];

export function addDiskMetrics(registry: Registry, read: () => DiskReport | undefined): void {
  for (const gauge of GAUGES) {
    new Gauge({
      name: gauge.name,
      help: gauge.help,
      aggregator: 'max',
      registers: [registry],
      collect() {
        const report = read();
        const value = report === undefined ? null : gauge.read(report);
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  }
}
