/** `perpinfo probe`: finds out which data another server has, in which form, how often and how fresh. */

import { writeFile } from 'node:fs/promises';
import { UsageError } from '../../config/usage-error.ts';
import { PROBE_BUDGET, probeServer } from '../../upstream/probe/open-probe.ts';
import { formatReport } from '../../upstream/probe/probe-report.ts';
import { PROBE_SETTINGS } from '../../upstream/settings.ts';
import type { Command } from '../command.ts';

/**
 * The maximum duration of a probe. It is long enough to see the hourly funding once, and limited
 * because a probe is not a monitor.
 */
const TIME_MS_MAX = 3_600_000;

const settings = PROBE_SETTINGS;

export const probe: Command<typeof settings> = {
  name: 'probe',
  summary: 'Reports what another server answers and pushes, how often, and how fresh.',
  settings,
  details:
    'Asks a fixed list of questions that only read, subscribes to marks and trades, and prints a\n' +
    `report. Spends at most ${PROBE_BUDGET} weight a minute, on one connection for questions and one\n` +
    'for push. The report has no key, and no addresses unless --show-user is given. Ctrl-C ends it\n' +
    'early, with the report so far. No ledger is needed.',
  example: 'perpinfo probe --upstream https://host --user 0x... --json report.json',
  async run({ settings: chosen, terminal, signal }) {
    if (chosen.probeTime > TIME_MS_MAX)
      throw new UsageError([`--time: got ${chosen.probeTime} ms, expected at most 1h`]);
    const report = await probeServer({
      settings: chosen,
      budget: PROBE_BUDGET,
      signal,
      progress: (text) => terminal.progress(() => text),
    });
    const { probeJson: file } = chosen;
    await terminal.write(formatReport(report));
    if (file !== undefined) await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
  },
};
