/**
 * `perpinfo compare`: compares the figures of an account on another server with the figures that
 * perpinfo computes.
 */

import { openUpstream } from '../../upstream/client/upstream.ts';
import { readUpstreamAddress } from '../../upstream/client/upstream-address.ts';
import type { Mismatch } from '../../upstream/dialect/dialect.ts';
import { requestHeadersOf } from '../../upstream/follower/request-headers.ts';
import {
  AccountComparer,
  type AccountComparison,
} from '../../upstream/probe/account-comparison.ts';
import { UPSTREAM_HEADER_SETTINGS, UPSTREAM_SETTINGS } from '../../upstream/settings.ts';
import type { Command } from '../command.ts';
import { ACCOUNT_SETTINGS } from '../settings.ts';

const settings = { ...UPSTREAM_SETTINGS, ...UPSTREAM_HEADER_SETTINGS, ...ACCOUNT_SETTINGS };

export const compare: Command<typeof settings> = {
  name: 'compare',
  summary: "Compares another server's figures of an account with ours, one by one.",
  settings,
  details:
    'Reads the account from the server, computes every figure again from its positions and prices,\n' +
    'and prints both. Exits with code 1 if any differs. A figure whose rule is not known does not\n' +
    'count as differing; a line says what is not known. No ledger is needed.',
  example: 'perpinfo compare --upstream https://host --user 0x...',
  async run({ settings: chosen, terminal, signal }) {
    const say = (message: string) => terminal.say(message);
    const { upstreamHeader: header } = chosen;
    const address = readUpstreamAddress(chosen.upstream, header?.value);
    const upstream = await openUpstream({
      address,
      budget: Number.POSITIVE_INFINITY,
      headers: requestHeadersOf(header),
      log: { info: say, warn: say },
    });
    try {
      const { user, dex = '' } = chosen;
      const comparer = new AccountComparer(upstream, { priority: 'asked', signal });
      const comparison = await comparer.compare({ user, dex }).catch((error: Error) => {
        throw new Error(address.redact(error.message));
      });
      await terminal.write(address.redact(formatComparison(comparison)));
      const { figures } = comparison;
      const differing = figures.filter(({ verdict }) => verdict === 'differs').length;
      if (differing > 0) throw new Error(`${differing} of ${figures.length} figures differ`);
    } finally {
      await upstream.close();
    }
  },
};

const TITLES: Mismatch = { field: 'figure', coin: undefined, ours: 'ours', theirs: 'upstream' };

/**
 * Returns the time, the mode and the notes; then one line for each figure, with its name, the
 * upstream's figure, our figure, and the verdict if the two figures differ.
 */
function formatComparison({ time, mode, notes, figures }: AccountComparison): string {
  const rows = [
    [...formatCells(TITLES), ''],
    ...figures.map((figure) => [
      ...formatCells(figure),
      figure.verdict === 'same' ? '' : figure.verdict,
    ]),
  ];
  const head = [`time ${time}`, ...(mode === undefined ? [] : [`mode ${mode}`]), ...notes];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${[...head, ...lines].join('\n')}\n`;
}

function formatCells({ field, coin, ours, theirs }: Mismatch): string[] {
  return [coin === undefined ? field : `${coin} ${field}`, theirs, ours];
}
