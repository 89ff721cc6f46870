import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import {
  askedWrongly,
  createPlaces,
  done,
  failed,
  joinLines,
  run,
} from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { TYPES } from '../info/types.ts';
import { ALSO_LONG, shareOut } from '../scale.ts';

const place = createPlaces();
const lines = simulateLines(120);

/** A ledger with snapshots at some heights, so that answers come from them and from replay. */
const data = place();
await run(['append', '--data', data, '--snapshot-every', '25'], { input: joinLines(lines) });
const empty = place();
await run(['append', '--data', empty]);

function foldUpTo(height: number): State {
  const state = createState();
  for (const line of lines.slice(0, height)) applyBlock(state, parseBlock(line));
  return state;
}

interface WireEvent {
  type: string;
  user?: string;
}

function findUser(type: string): string {
  const events = lines.flatMap((line) => JSON.parse(line).events as WireEvent[]);
  const user = events.find((event) => event.type === type)?.user;
  assert.ok(user !== undefined, `no event ${type}`);
  return user;
}

const AUCTION = { type: 'perpDeployAuctionStatus' };
const QUESTIONS = [
  { type: 'clearinghouseState', user: findUser('account') },
  { type: 'clearinghouseState', user: findUser('account'), dex: '' },
  { type: 'delegations', user: findUser('delegation') },
  { type: 'delegations', user: `0x${'0'.repeat(40)}` },
  AUCTION,
];

test('every type of question is answered from the newest height', async () => {
  const state = foldUpTo(lines.length);
  for (const question of QUESTIONS) {
    const outcome = await run(['query', '--data', data, JSON.stringify(question)]);
    assert.deepEqual(outcome, done(`${answerQuestion(state, question)}\n`));
  }
});

for (const height of shareOut([26, 120, 0, 1, 24, 25, 60, 119], 2)) {
  test(`--at ${height} answers as it was at that height`, ALSO_LONG, async () => {
    const state = foldUpTo(height);
    for (const question of [QUESTIONS[0], QUESTIONS[2], AUCTION]) {
      const args = ['query', '--data', data, '--at', String(height), JSON.stringify(question)];
      assert.deepEqual(await run(args), done(`${answerQuestion(state, question)}\n`));
    }
  });
}

test('--at a height that is not there is refused', async () => {
  assert.deepEqual(
    await run(['query', '--data', data, '--at', '121', JSON.stringify(AUCTION)]),
    failed('perpinfo: height 121 is not in the ledger: the ledger ends at 120\n'),
  );
});

test('a ledger without blocks answers with zeros', async () => {
  for (const question of [QUESTIONS[0], QUESTIONS[2], AUCTION]) {
    const outcome = await run(['query', '--data', empty, JSON.stringify(question)]);
    assert.deepEqual(outcome, done(`${answerQuestion(createState(), question)}\n`));
  }
});

const WRONG: [question: string, message: string][] = [
  ['{"type":', 'malformed_json: JSON: got "{\\"type\\":", expected an object with a type'],
  ['', 'malformed_json: JSON: got "", expected an object with a type'],
  ['[]', 'invalid_field: body: got an array of 0, expected an object with a type'],
  ['{}', `missing_field: type: got nothing, expected one of ${TYPES}`],
  ['{"type":"nope"}', `unknown_type: type: got "nope", expected one of ${TYPES}`],
  [
    '{"type":"delegations"}',
    'missing_field: user: got nothing, ' +
      'expected an address: 0x and 40 hexadecimal digits, either case',
  ],
  [
    '{"type":"delegations","user":"0x1"}',
    'invalid_address: user: got "0x1", expected 0x and 40 hexadecimal digits',
  ],
  [
    '{"type":"meta","atHeight":3}',
    'invalid_field: atHeight: got 3, expected none: query answers the past with --at HEIGHT',
  ],
  [
    '{"type":"portfolio","user":"0x0000000000000000000000000000000000000000"}',
    'invalid_field: type: got "portfolio", expected a question about one height: ' +
      '"perpinfo history" prints an account over time, "serve" answers the others',
  ],
];

for (const [question, message] of WRONG) {
  test(`the question ${JSON.stringify(question)} is refused as ${message.split(':')[0]}`, async () => {
    assert.deepEqual(await run(['query', '--data', data, question]), askedWrongly(message));
  });
}

test('a perp dex that is not there is refused', async () => {
  const question = JSON.stringify({ ...QUESTIONS[0], dex: 'nope' });
  const { code, stderr } = await run(['query', '--data', data, question]);
  assert.equal(code, 2);
  assert.match(stderr, /^perpinfo: unknown_dex: dex: got "nope", expected .*\n$/);
});

test('a partial ledger says that it does not hold an account, and answers as before up to then', async () => {
  const partial = place();
  const user = `0x${'5'.repeat(40)}`;
  const blocks = [{ type: 'transfer', user, dex: '', amount: '2.5' }, { type: 'partial' }].map(
    (event, index) => JSON.stringify({ height: index + 1, time: index, events: [event] }),
  );
  await run(['append', '--data', partial], { input: joinLines(blocks) });
  const ask = (about: string, ...flags: string[]) => {
    const question = JSON.stringify({ type: 'clearinghouseState', user: about });
    return run(['query', '--data', partial, ...flags, question]);
  };
  const stranger = `0x${'6'.repeat(40)}`;
  const message = `this ledger does not hold the account of ${stranger} on dex "": it is partial, and no event has named it`;
  assert.deepEqual(await ask(stranger), failed(`perpinfo: not_ready: ${message}\n`));
  assert.match((await ask(stranger, '--at', '1')).stdout, /"accountValue":"0.0"/);
  assert.match((await ask(user)).stdout, /"accountValue":"2.5"/);
});
