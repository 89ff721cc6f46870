/** `perpinfo compare`: compares the figures of an account on another server with the figures that we compute. */

import type { SettingValues } from '../../config/setting.ts';
import { formatAddress } from '../../exact/address.ts';
import type { QuestionBody } from '../../info/question.ts';
import { createState } from '../../state/state.ts';
import { openUpstream } from '../../upstream/client/upstream.ts';
import { readUpstreamAddress } from '../../upstream/client/upstream-address.ts';
import {
  type AccountReading,
  readAccountAnswer,
  withCollateral,
} from '../../upstream/dialect/account-answer.ts';
import {
  type ComparedFigure,
  compareAccount,
  isCollateralSuspected,
} from '../../upstream/dialect/account-check.ts';
import { findCollateral } from '../../upstream/dialect/collateral.ts';
import { DialectError, type Mismatch } from '../../upstream/dialect/dialect.ts';
import { NO_DEXES, readMeta, readPerpDexs } from '../../upstream/dialect/market-answers.ts';
import { createDirectory, type MarketDirectory } from '../../upstream/dialect/market-directory.ts';
import { readCollateral, readMode, UNIFIED_MODE } from '../../upstream/dialect/spot-answer.ts';
import { requestHeadersOf } from '../../upstream/follower/request-headers.ts';
import { UPSTREAM_HEADER_SETTINGS, UPSTREAM_SETTINGS } from '../../upstream/settings.ts';
import type { Command } from '../command.ts';
import { ACCOUNT_SETTINGS } from '../settings.ts';

const settings = { ...UPSTREAM_SETTINGS, ...UPSTREAM_HEADER_SETTINGS, ...ACCOUNT_SETTINGS };
type CompareSettings = SettingValues<typeof settings>;

type Ask = (question: QuestionBody) => Promise<unknown>;

export const compare: Command<typeof settings> = {
  name: 'compare',
  summary: "Compares another server's figures of an account with ours, one by one.",
  settings,
  details:
    'Reads the account from the server, computes every figure again from its positions and prices,\n' +
    'and prints both. Exits with code 1 if any differs. No ledger is needed.',
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
      const ask: Ask = (question) => upstream.ask(question, { priority: 'asked', signal });
      const { time, figures } = await compareWith(ask, chosen).catch((error: Error) => {
        throw new Error(address.redact(error.message));
      });
      await terminal.write(address.redact(formatComparison(time, figures)));
      const differing = figures.filter(({ isSame }) => !isSame).length;
      if (differing > 0) throw new Error(`${differing} of ${figures.length} figures differ`);
    } finally {
      await upstream.close();
    }
  },
};

interface Comparison {
  /** The time of the answer, in milliseconds. */
  readonly time: number;
  readonly figures: readonly ComparedFigure[];
}

export async function compareWith(
  ask: Ask,
  { user, dex = '' }: Pick<CompareSettings, 'user' | 'dex'>,
): Promise<Comparison> {
  const directory = await readDirectory(ask, dex);
  const question = { user: formatAddress(user), dex };
  const answer = await ask({ type: 'clearinghouseState', ...question });
  const reading = unwrap(readAccountAnswer(answer, { dex, directory }));
  const first = compareReading(reading, directory);
  if (!isCollateralSuspected(first.figures.filter(({ isSame }) => !isSame))) return first;
  const collateral =
    findCollateral(reading, directory) ??
    (await readSpotCollateral(ask, question.user, { reading, directory }));
  return compareReading(withCollateral(reading, collateral), directory);
}

async function readDirectory(ask: Ask, dex: string): Promise<MarketDirectory> {
  const dexes = dex === '' ? NO_DEXES : unwrap(readPerpDexs(await ask({ type: 'perpDexs' })));
  const meta = unwrap(readMeta(await ask({ type: 'meta', dex })));
  return createDirectory(createState(), { dexes, metas: new Map([[dex, meta]]) });
}

function unwrap<T>(reading: T | DialectError): T {
  if (reading instanceof DialectError) throw reading;
  return reading;
}

/** The spot balance that is the collateral of a unified account; 0 for other accounts. */
async function readSpotCollateral(
  ask: Ask,
  user: string,
  { reading, directory }: { readonly reading: AccountReading; readonly directory: MarketDirectory },
): Promise<number> {
  const mode = unwrap(readMode(await ask({ type: 'userAbstraction', user })));
  if (mode !== UNIFIED_MODE) return 0;
  const spot = await ask({ type: 'spotClearinghouseState', user });
  return unwrap(
    readCollateral(spot, directory.collateralTokenOf(reading.rows.dex), reading.reported),
  );
}

function compareReading(reading: AccountReading, directory: MarketDirectory): Comparison {
  return { time: reading.reported.time, figures: compareAccount(reading, directory) };
}

const TITLES: Mismatch = { field: 'figure', coin: undefined, ours: 'ours', theirs: 'upstream' };

/** One line for each figure: the name, the upstream's figure, our figure, and whether they differ. */
function formatComparison(time: number, figures: readonly ComparedFigure[]): string {
  const rows = [
    [...formatCells(TITLES), ''],
    ...figures.map((figure) => [...formatCells(figure), figure.isSame ? '' : 'differs']),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `time ${time}\n${lines.join('\n')}\n`;
}

function formatCells({ field, coin, ours, theirs }: Mismatch): string[] {
  return [coin === undefined ? field : `${coin} ${field}`, theirs, ours];
}
