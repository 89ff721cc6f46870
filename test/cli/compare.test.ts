/** `perpinfo compare` against a server that answers as an exchange's own does. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { answerQuestion } from '../../src/info/read-question.ts';
import { askedWrongly, failed, type Outcome, run } from '../../tools/harness/program.ts';
import { type AnsweredAccount, askAccount } from '../upstream/follower/as-upstream.ts';
import { DEX, market, partialLedger, TIME, USER } from '../upstream/follower/ledgers.ts';

const KEY = 'a-vendors-secret';
const FUNDING = { allTime: '1.5', sinceOpen: '0.5', sinceChange: '0.0' };

/** A position of -2.5 on each dex; the position on the first dex has these further fields. */
function ledgerWith(fields: Readonly<Record<string, unknown>> = {}, markPx = '100.0') {
  const accounts = ['', 'xyz'].map((dex) => ({
    type: 'account',
    user: USER,
    dex,
    rawUsd: '500.0',
    positions: [
      {
        coin: dex === '' ? 'ABC' : 'xyz:GOLD',
        szi: '-2.5',
        entryNtl: '240.0',
        leverage: { type: 'cross', value: 10 },
        cumFunding: FUNDING,
        ...(dex === '' ? fields : {}),
      },
    ],
  }));
  const collateral = { type: 'collateral', user: USER, dex: 'xyz', amount: '1000.0' };
  const markets = ['ABC', 'xyz:GOLD'].map((coin) => market(coin, { markPx }));
  return partialLedger(DEX, ...markets, ...accounts, collateral);
}

const LEDGER = ledgerWith();

/** What the server answers, by type; the rest is answered from the ledger. */
let told: Record<string, unknown> = {};
/** The header of a vendor's key, as it came last. */
let keyHeader: string | string[] | undefined;

const server = createServer(async (request, response) => {
  keyHeader = request.headers['x-api-key'];
  let body = '';
  for await (const part of request) body += part;
  const question = JSON.parse(body);
  try {
    const answer = told[question.type] ?? JSON.parse(answerQuestion(LEDGER, question));
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  } catch {
    response.writeHead(422).end('the ledger does not know the mode of an account');
  }
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const { port } = server.address() as AddressInfo;
const VARIABLES = { PERPINFO_UPSTREAM: `http://127.0.0.1:${port}/${KEY}` };

function compare(...args: string[]): Promise<Outcome> {
  return run(['compare', '--user', USER, ...args], { variables: VARIABLES });
}

function accountWith(
  change: (answer: AnsweredAccount) => void,
  dex = '',
  ledger = LEDGER,
): AnsweredAccount {
  const answer = askAccount(ledger, USER, dex);
  delete answer.assetPositions[0].position.leverage.rawUsd;
  change(answer);
  return answer;
}

test('an account whose figures are all reproduced is printed figure by figure', async () => {
  told = { clearinghouseState: accountWith(() => undefined), userAbstraction: 'default' };
  const { code, stdout, stderr } = await compare();
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(
    stdout,
    [
      `time ${TIME}`,
      'mode default',
      'figure                              upstream        ours',
      'marginSummary.accountValue          250.0           250.0',
      'marginSummary.totalNtlPos           250.0           250.0',
      'marginSummary.totalRawUsd           500.0           500.0',
      'marginSummary.totalMarginUsed       25.0            25.0',
      'crossMarginSummary.accountValue     250.0           250.0',
      'crossMarginSummary.totalNtlPos      250.0           250.0',
      'crossMarginSummary.totalRawUsd      500.0           500.0',
      'crossMarginSummary.totalMarginUsed  25.0            25.0',
      'crossMaintenanceMarginUsed          6.25            6.25',
      'withdrawable                        225.0           225.0',
      'ABC entryPx                         96.0            96.0',
      'ABC positionValue                   250.0           250.0',
      'ABC unrealizedPnl                   -10.0           -10.0',
      'ABC returnOnEquity                  -0.4166666667   -0.4166666667',
      'ABC liquidationPx                   195.1219512195  195.1219512195',
      'ABC marginUsed                      25.0            25.0',
      'ABC maxLeverage                     20              20',
      '',
    ].join('\n'),
  );
});

test('a figure that differs is marked, and the exit code says so', async () => {
  told = {
    clearinghouseState: accountWith(({ marginSummary }) => {
      marginSummary.accountValue = '250.000001';
    }),
  };
  const { code, stdout, stderr } = await compare();
  assert.deepEqual([code, stderr], [1, 'perpinfo: 1 of 17 figures differ\n']);
  assert.match(stdout, /^marginSummary.accountValue +250.000001 +250.0 +differs$/m);
});

test('a vendor that wants its key in a header gets it', async () => {
  told = { clearinghouseState: accountWith(() => undefined) };
  const { code } = await compare('--upstream-header', 'X-API-Key:hidden');
  assert.deepEqual([code, keyHeader], [0, 'hidden']);
});

test("a unified account is compared with its collateral, on the dex's own token", async () => {
  told = {
    clearinghouseState: accountWith(() => undefined, 'xyz'),
    userAbstraction: 'unifiedAccount',
    spotClearinghouseState: { balances: [{ token: 0, total: '1250.0', hold: '250.0' }] },
  };
  const { code, stdout, stderr } = await compare('--dex', 'xyz');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^xyz:GOLD liquidationPx +585.3658536585 +585.3658536585$/m);
  assert.match(stdout, /^mode unifiedAccount$/m);
  assert.match(stdout, /^collateral: a spot balance of 1000.0 is behind it$/m);
});

for (const { mode, rule } of [
  {
    mode: 'portfolioMargin',
    rule: 'the rule for the liquidation price and the withdrawable amount',
  },
  { mode: 'dexAbstraction', rule: 'the rule for the cash behind the positions of a dex' },
]) {
  test(`of an account in the mode ${mode} the liquidation price is not known, which is no difference`, async () => {
    told = {
      clearinghouseState: accountWith(() => undefined, 'xyz'),
      userAbstraction: mode,
      spotClearinghouseState: { balances: [{ token: 0, total: '1250.0', hold: '250.0' }] },
    };
    const { code, stdout, stderr } = await compare('--dex', 'xyz');
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok(stdout.includes(`\nmode ${mode}\n${mode}: ${rule} is not known\n`), stdout);
    assert.match(stdout, /^xyz:GOLD liquidationPx .* not known$/m);
    assert.equal(stdout.match(/ not known$/gm)?.length, 2, 'the note and one figure');
    assert.doesNotMatch(stdout, / differs$/m);
  });
}

test('of an account in portfolio margin whose answer has no rows the mode is named', async () => {
  told = {
    clearinghouseState: accountWith((answer) => {
      answer.withdrawable = '9999.0';
    }),
    userAbstraction: 'portfolioMargin',
  };
  const { code, stdout } = await compare();
  assert.equal(code, 0);
  assert.match(stdout, /^portfolioMargin: .* is not known$/m);
  assert.match(stdout, /^withdrawable: got 9999.0, expected at most /m);
});

test('a mode with other rules excuses no other figure', async () => {
  told = {
    clearinghouseState: accountWith(({ crossMarginSummary }) => {
      crossMarginSummary.totalNtlPos = '250.000001';
    }, 'xyz'),
    userAbstraction: 'portfolioMargin',
  };
  const { code, stdout } = await compare('--dex', 'xyz');
  assert.equal(code, 1);
  assert.match(stdout, /^crossMarginSummary.totalNtlPos .* differs$/m);
});

test('an isolated leg without a position is named, and its figures are not known', async () => {
  told = {
    clearinghouseState: accountWith(({ marginSummary }) => {
      marginSummary.accountValue = '262.5';
      marginSummary.totalRawUsd = '512.5';
    }),
  };
  const { code, stdout } = await compare();
  assert.equal(code, 0);
  assert.match(stdout, /^isolated leg: cash outside of all positions, whose rule is not known$/m);
  assert.match(stdout, /^marginSummary.accountValue +262.5 +250.0 +not known$/m);
  assert.match(stdout, /^marginSummary.totalRawUsd +512.5 +500.0 +not known$/m);
});

test("a position with margin tiers other than its market's is no difference", async () => {
  const own = [{ lowerBound: '0.0', maxLeverage: 50 }];
  told = { clearinghouseState: accountWith(() => undefined, '', ledgerWith({ marginTiers: own })) };
  const { code, stdout, stderr } = await compare();
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^margin tiers other than its market's: ABC$/m);
  assert.match(stdout, /^ABC maxLeverage +50 +50$/m);
});

test('a table of another dex is found as the tiers of a position', async () => {
  const table = [
    { lowerBound: '0.0', maxLeverage: 40 },
    { lowerBound: '100.0', maxLeverage: 10 },
  ];
  told = {
    clearinghouseState: accountWith(() => undefined, '', ledgerWith({ marginTiers: table })),
    allPerpMetas: [
      JSON.parse(answerQuestion(LEDGER, { type: 'meta' })),
      {
        universe: [{ name: 'xyz:GOLD', szDecimals: 2, maxLeverage: 40, marginTableId: 60 }],
        marginTables: [[60, { description: '', marginTiers: table }]],
      },
    ],
  };
  const { code, stdout, stderr } = await compare();
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^ABC maxLeverage +10 +10$/m);
});

test('perp and spot answers of different marks are asked for again until both are of one moment', async () => {
  const before = accountWith(() => undefined, 'xyz', ledgerWith({}, '110.0'));
  const after = accountWith(() => undefined, 'xyz');
  const spot = (available: string) => ({
    balances: [{ token: 0, total: '1250.0', hold: '250.0' }],
    tokenToAvailableAfterMaintenance: [[0, available]],
  });
  const accounts = [before, after];
  told = {
    userAbstraction: 'unifiedAccount',
    // Of the later marks: 1,000 outside of the account, its value of 250 less 6.25 of maintenance.
    spotClearinghouseState: spot('1243.75'),
    get clearinghouseState() {
      return accounts.length > 1 ? accounts.shift() : accounts[0];
    },
  };
  const { code, stdout, stderr } = await compare('--dex', 'xyz');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^collateral: a spot balance of 1000.0 is behind it$/m);
});

test('an account that is not unified is not excused by a spot balance', async () => {
  told = {
    clearinghouseState: accountWith(() => undefined, 'xyz'),
    userAbstraction: 'default',
    spotClearinghouseState: { balances: [{ token: 0, total: '1250.0', hold: '250.0' }] },
  };
  const { code, stdout } = await compare('--dex', 'xyz');
  assert.equal(code, 1);
  assert.match(stdout, /^xyz:GOLD liquidationPx .* differs$/m);
});

test('an answer that cannot be read is named', async () => {
  told = {
    clearinghouseState: accountWith(({ assetPositions }) => {
      assetPositions[0].position.leverage.type = 'shared';
    }),
  };
  const message = 'leverage.type of ABC: got "shared", expected cross or isolated';
  assert.deepEqual(await compare(), failed(`perpinfo: ${message}\n`));
});

test('an address that is none is refused without being shown', async () => {
  const outcome = await run(['compare', '--upstream', `ftp://host/${KEY}`, '--user', USER]);
  const expected = 'an address such as https://host or https://host/KEY';
  assert.deepEqual(
    outcome,
    askedWrongly(
      `--upstream: got a hidden value (neither https:// nor http://), expected ${expected}`,
    ),
  );
});

test('an address of an account without 0x is refused with that reason', async () => {
  const bare = '1'.repeat(40);
  assert.deepEqual(
    await run(['compare', '--user', bare], { variables: VARIABLES }),
    askedWrongly(`--user: got "${bare}", expected 0x and 40 hexadecimal digits: 0x is missing`),
  );
});

test('an upstream that is not there is named by its origin only', async () => {
  const gone = `http://127.0.0.1:1/${KEY}`;
  const { code, stderr } = await run(['compare', '--upstream', gone, '--user', USER]);
  assert.equal(code, 1);
  assert.ok(!stderr.includes(KEY), stderr);
});
