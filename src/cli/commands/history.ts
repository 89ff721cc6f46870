/** `perpinfo history`: prints an account's figures over time, without a server, for a spreadsheet. */

import { type Archive, openArchive } from '../../archive/reading/archive.ts';
import { ArchivedHistory } from '../../archive/reading/archived-history.ts';
import { adviseOnDamage } from '../../archive/records/damage-advice.ts';
import { requireOwnArchive } from '../../archive/records/ledger-match.ts';
import { UsageError } from '../../config/usage-error.ts';
import { USD_DECIMALS } from '../../events/fields.ts';
import { type Exact, formatUnits } from '../../exact/decimal.ts';
import {
  AccountSeries,
  COLUMNS,
  CSV_HEAD,
  findDexAtEnd,
  formatCsvRow,
  type SeriesRow,
} from '../../info/answers/account-series.ts';
import type { HistoryView } from '../../info/archive/history-view.ts';
import { listPoints, readTimeRange } from '../../info/archive/time-range.ts';
import { RequestError } from '../../info/request-error.ts';
import { openEmbeddedLedger } from '../../ledger/embedded/embedded-ledger.ts';
import { type Ledger, LedgerError } from '../../ledger/ledger.ts';
import { SnapshotFolder } from '../../replica/snapshot-folder.ts';
import type { Call, Command } from '../command.ts';
import { HISTORY_SETTINGS } from '../settings.ts';

const settings = HISTORY_SETTINGS;
type HistoryCall = Call<typeof settings>;

/** The number of rows that are written together. */
const BATCH_ROWS = 1000;

export const history: Command<typeof settings> = {
  name: 'history',
  summary: "Prints an account's figures over time from the archive, without a server.",
  settings,
  details:
    'Prints one row for each step, from the last block up to then: height, time, the account value and\n' +
    'other figures, and net transfers. Profit over a time is the change of accountValue less that of\n' +
    'netTransfers. Rows without figures are gaps in the ledger. There is no limit on the rows. The\n' +
    'archive is written by "serve --archive" or "perpinfo archive".',
  example: 'perpinfo history --data ./data --user 0x1234... --from 2026-01-01 --step 1d > 2026.csv',
  run: (call) => adviseOnDamage(call.settings.archiveData, () => print(call)),
};

async function print(call: HistoryCall): Promise<void> {
  const { archiveData } = call.settings;
  const archive = await openArchive(archiveData);
  if (archive === undefined) {
    const advice = 'write one with "perpinfo archive"';
    throw new LedgerError('missing', `there is no archive in ${archiveData}: ${advice}`);
  }
  try {
    await requireOwnLedger(archive, archiveData);
    await printRows(new ArchivedHistory(archive), call);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new UsageError([`${error.code}: ${error.message}`]);
  } finally {
    await archive.close();
  }
}

/**
 * Throws if the archive does not belong to the ledger in the same folder. The folder may have no
 * ledger: the archive may be a copy, or its ledger may be on NATS.
 */
async function requireOwnLedger({ range }: Archive, data: string): Promise<void> {
  const ledger = await openLedgerIfAny(data);
  if (ledger === undefined) return;
  try {
    await requireOwnArchive(range, { ledger, snapshots: new SnapshotFolder(data) }, data);
  } finally {
    await ledger.close();
  }
}

async function openLedgerIfAny(data: string): Promise<Ledger | undefined> {
  try {
    return await openEmbeddedLedger(data);
  } catch (error) {
    if (error instanceof LedgerError && error.fault === 'missing') return undefined;
    throw error;
  }
}

async function printRows(view: HistoryView, { settings: chosen, terminal, signal }: HistoryCall) {
  const { user, dex = '', historyFrom, historyTo, historyStep, historyFormat } = chosen;
  const range = readTimeRange(view, { from: historyFrom, to: historyTo });
  const series = new AccountSeries(view, user, findDexAtEnd(view, range, dex));
  const format = historyFormat === 'csv' ? formatCsvRow : formatObject;
  let batch = historyFormat === 'csv' ? [CSV_HEAD] : [];
  for (const point of listPoints(view, range, historyStep)) {
    batch.push(format(series.rowAt(point)));
    if (batch.length < BATCH_ROWS) continue;
    signal.throwIfAborted();
    await terminal.write(batch.join(''));
    batch = [];
    const share = (point.time - range.from) / Math.max(1, range.to - range.from);
    terminal.progress(() => `reading the archive: ${Math.floor(share * 100)} %`);
  }
  await terminal.write(batch.join(''));
}

function formatObject({ height, time, amounts }: SeriesRow): string {
  const [, , ...names] = COLUMNS;
  const figures = names.map((name, index) => [name, formatAmount(amounts?.[index])]);
  return `${JSON.stringify({ height: height ?? null, time, ...Object.fromEntries(figures) })}\n`;
}

function formatAmount(amount: Exact | undefined): string | null {
  return amount === undefined ? null : formatUnits(amount, USD_DECIMALS);
}
