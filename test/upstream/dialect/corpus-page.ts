/** Generates docs/reference/recorded-accounts.md from the corpus; as a program, prints it. */

import { fileURLToPath } from 'node:url';
import { type CorpusAccount, followCorpus, loadLeftOut, type RecordedAccount } from './corpus.ts';

const INTRODUCTION = `# Recorded accounts

Answers of the real exchange that stand in public repositories, as fixtures, samples and examples. Each is
followed by the follower's own code with the marks of the answer itself, recorded in a ledger, and asked for
again; each figure is compared with the recording. Amounts are equal if the exchange's text is the nearest double
of ours, \`returnOnEquity\` and \`liquidationPx\` if they differ by at most 1e-9. An account that our rules do not
reproduce is passed on: it is answered with the exchange's own answer, and never recorded with a guess.

The recordings are in \`test/recorded/corpus\`, with their origin, what was cut, and addresses replaced. This page
is generated from them by \`npm run docs:accounts\`.
`;

const LEGEND = `
Value is that of the account on its dex. Figures are those that are equal, of those compared; where an account is
passed on, only those that are computed from others are compared. In brackets is what we do not know of it. A follower
would ask for the spot balance that the recordings lack.
`;

const ORIGINS = `
## What they are, and where they come from
`;

const LEFT_OUT = `
## Not recordings

Samples that look like answers of the exchange, and are none, or not whole ones: nothing can be shown with them.
`;

export function formatCorpusPage(accounts = followCorpus()): string {
  return [
    INTRODUCTION,
    formatTotals(accounts),
    LEGEND,
    '| account | recorded | dex | positions | value | forms | figures | verdict |',
    '|---|---|---|---|---|---|---|---|',
    ...accounts.map(formatRow),
    ORIGINS,
    '| account | origin | what it is | cut |',
    '|---|---|---|---|',
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

function formatOrigin({ answer: { name, origin, about, cut } }: CorpusAccount): string {
  return `| ${name} | ${placeOfOrigin(origin)} | ${about} | ${cut} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(formatCorpusPage());
}
