/** Generates docs/reference/recorded-accounts.md from the corpus; as a program, prints it. */

import { fileURLToPath } from 'node:url';
import { type CorpusAccount, followCorpus, loadLeftOut, type RecordedAccount } from './corpus.ts';

const INTRODUCTION = `# Recorded accounts

This page shows which real accounts of Hyperliquid perpinfo reproduces exactly. The accounts are answers of the real
exchange that are published in public repositories, as fixtures, samples and examples.

Each answer is followed with the marks of the answer itself, recorded in a ledger, and asked for again. Then each figure
is compared with the recording. An amount is equal if the exchange's text is the nearest double of perpinfo's amount.
\`returnOnEquity\` and \`liquidationPx\` are equal if they differ by at most 1e-9. An account that perpinfo's rules do
not reproduce is passed on: clients get the exchange's own answer, and nothing is recorded.

The recordings are in \`test/recorded/corpus\`, with their origin and a note of what was cut. Their addresses are
replaced. This page is generated from the recordings by \`npm run docs:accounts\`.
`;

const LEGEND = `
In the table, "value" is the value of the account on its dex. "figures" counts the equal figures and the compared
figures. If an account is passed on, only figures that are computed from other figures are compared, and the reason is
in brackets. A follower would also ask for the spot balance, which most recordings do not have. Where the spot balance
is given instead, it was worked out from the liquidation price, so the liquidation prices are not compared.
`;

const ORIGINS = `
## What the accounts are, and where they come from

"markets" says where the terms of the account's markets come from, since an account's answer does not have them. Terms
of a later day, or terms that were worked out from the answer's own \`maxLeverage\`, may differ from the terms of that
day; if they do, figures differ, except \`maxLeverage\` itself. "meta of 2026-10" is the exchange's \`meta\` of October
2026, from ArthurMateus/Copytrade-Test/tests/fixtures/meta_and_asset_ctxs.json.
`;

/** How recordings name the exchange's meta of October 2026. */
const LATER_META = /^meta of the exchange, (2026-10) \([^)]*\)/;

const LEFT_OUT = `
## Samples that are left out

These samples look like answers of the exchange, but they are invented or incomplete, so they cannot show anything.
`;

export function formatCorpusPage(accounts: readonly CorpusAccount[]): string {
  return [
    INTRODUCTION,
    formatTotals(accounts),
    LEGEND,
    '| account | recorded | dex | positions | value | forms | figures | verdict |',
    '|---|---|---|---|---|---|---|---|',
    ...accounts.map(formatRow),
    ORIGINS,
    '| account | origin | what it is | cut | markets |',
    '|---|---|---|---|---|',
    ...accounts.map(formatOrigin),
    LEFT_OUT,
    '| origin | what it shows | why it is left out |',
    '|---|---|---|',
    ...loadLeftOut().map(({ origin, what, reason }) => `| ${origin} | ${what} | ${reason} |`),
    '',
  ].join('\n');
}

function formatTotals(accounts: readonly CorpusAccount[]): string {
  const { positions, recorded, compared, same, reproduced } = totalsOf(accounts);
  const passedOn = accounts.length - recorded;
  return [
    `${accounts.length} accounts with ${positions} positions: ${recorded} are recorded, ${passedOn} are passed on.`,
    `${compared} figures are compared, ${same} are equal; of the accounts that are recorded all ${reproduced}.`,
  ].join('\n');
}

export function totalsOf(accounts: readonly CorpusAccount[]) {
  const figures = accounts.flatMap(({ followed }) => followed.figures);
  const recorded = accounts.filter(({ followed }) => followed.verdict === 'recorded');
  const sizes = accounts.map(({ answer }) => answer.clearinghouseState.assetPositions.length);
  return {
    accounts: accounts.length,
    positions: sizes.reduce((sum, count) => sum + count, 0),
    recorded: recorded.length,
    compared: figures.length,
    same: figures.filter(({ isSame }) => isSame).length,
    reproduced: recorded.flatMap(({ followed }) => followed.figures).length,
  };
}

function formatRow({ answer, followed, forms, valueClass }: CorpusAccount): string {
  const { name, date, dex, clearinghouseState } = answer;
  const same = followed.figures.filter(({ isSame }) => isSame).length;
  const cells = [
    name,
    date,
    dex === '' ? 'first' : dex,
    clearinghouseState.assetPositions.length,
    valueClass,
    forms.join(', '),
    `${same} of ${followed.figures.length}`,
    answer.unknownRule === undefined
      ? followed.verdict
      : `${followed.verdict} (${answer.unknownRule})`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** A path is one with its repository; other places are named after it. */
function placeOfOrigin({ repository, path }: RecordedAccount['origin']): string {
  return path.includes('/') ? `${repository}/${path}` : `${repository}: ${path}`;
}

function formatOrigin({ answer }: CorpusAccount): string {
  const { name, origin, about, cut, marketsFrom } = answer;
  const markets = marketsFrom.replace(LATER_META, 'meta of $1');
  return `| ${name} | ${placeOfOrigin(origin)} | ${about} | ${cut} | ${markets} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(formatCorpusPage(await followCorpus()));
}
