/**
 * Questions that the archive or the exchange answers have the same answer over every transport: by POST and
 * by GET, in the fast lane and by Node's server, and over push.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openArchive } from '../../src/archive/reading/archive.ts';
import { ArchivedHistory } from '../../src/archive/reading/archived-history.ts';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion, QuestionBody } from '../../src/info/question.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { answerQuestion, readQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import type {
  FollowerHandler,
  ForwardOutcome,
} from '../../src/upstream/channel/follower-client.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import { formatRequest, HEIGHT } from '../../tools/harness/service.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { archiveOnce } from '../archive/archived.ts';
import { answerSteps } from '../info/histories.ts';
import { STATUS } from '../upstream/channel/conformance.ts';
import { connectInProcess } from '../upstream/channel/in-process.ts';
import { DEVIATIONS, listSourceCases, PAST_HEIGHT, type SourceCase } from './source-cases.ts';
import {
  type AnswerSources,
  connectPushAsker,
  httpTransports,
  openTransports,
} from './transports.ts';

/** What the exchange answers, by question. */
const exchangeAnswers = new Map<string, string>();

/** An exchange that answers the questions of the table, in whatever order their fields come. */
const handler: FollowerHandler = {
  readItem: async () => ({ outcome: 'failed', reason: 'the ledger knows every account' }),
  noteInterest: () => undefined,
  forward: async (question) => answerForwarded(question),
  status: () => STATUS,
};

function keyOf({ type, variant }: Readonly<Record<string, unknown>>): string {
  return `${type} ${variant}`;
}

function answerForwarded(question: QuestionBody): ForwardOutcome {
  const answer = exchangeAnswers.get(keyOf(question));
  if (answer === undefined) return { outcome: 'failed', reason: 'the table has no such question' };
  const value: unknown = JSON.parse(answer);
  const rows = Array.isArray(value) ? value.length : undefined;
  return { outcome: 'answered', bytes: Buffer.from(answer), rows };
}

let history: HistoryView | undefined;

async function openSources(folder: string): Promise<AnswerSources> {
  await archiveOnce(folder);
  const archive = (await openArchive(folder)) ?? assert.fail('there is an archive');
  history = new ArchivedHistory(archive);
  return {
    history: { isKept: true, find: () => history },
    follower: connectInProcess(handler),
    close: () => archive.close(),
  };
}

const transports = await openTransports({ after }, { settings: { forward: true }, openSources });
const { state, key, push } = transports;
const CASES = listSourceCases({
  user: formatAddress(state.addresses.addressOf(1)),
  dex: state.markets.dexes[1].name,
  table: Number(/"marginTableId":(\d+)/.exec(answerQuestion(state, { type: 'meta' }))?.[1]),
  coin: state.markets.markets[0].coin,
});
for (const { question, exchangeAnswer } of CASES) {
  if (exchangeAnswer !== undefined) exchangeAnswers.set(keyOf(question), exchangeAnswer);
}

/** The state at a height of the past, folded again. */
function foldTo(height: number): StateView {
  const folded = createState();
  for (const line of simulateLines(HEIGHT, 'http').slice(0, height)) {
    applyBlock(folded, parseBlock(line));
  }
  return folded;
}

const past = foldTo(PAST_HEIGHT);

function expectedBody({ question, exchangeAnswer }: SourceCase): string {
  if (exchangeAnswer !== undefined) return exchangeAnswer;
  const { atHeight, ...present } = question;
  if (STATE_TYPES.some(({ type }) => type === question['type'])) {
    return answerQuestion(past, present);
  }
  assert.ok(history !== undefined);
  return answerSteps((readQuestion(question) as ArchiveQuestion).answer(history)).body;
}

interface Seen {
  readonly status: number;
  /** Undefined for an answer of the exchange, which has no height. */
  readonly height: string | undefined;
  readonly body: string;
}

type Ask = (one: SourceCase) => Promise<Seen>;

function queryOf(question: SourceCase['question']): string {
  const pairs = Object.entries(question).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams(pairs).toString();
}

async function askHttp(port: number, request: Buffer): Promise<Seen> {
  const { status, headers, body } = await exchange(port, request);
  return { status, height: headers.get('ledger-height'), body };
}

async function askPush({ question }: SourceCase): Promise<Seen> {
  const asker = await connectPushAsker(push, key);
  const frame = await asker.post(question);
  asker.close();
  const { type, payload } = JSON.parse(frame).data.response;
  if (type !== 'info') return { status: 0, height: undefined, body: payload };
  const height = payload.height === undefined ? undefined : `${payload.height}`;
  return { status: 200, height, body: JSON.stringify(payload.data) };
}

const WAYS: readonly (readonly [transport: string, ask: Ask])[] = [
  ...httpTransports(transports).flatMap(({ name, port }): [string, Ask][] => [
    [
      `POST (${name})`,
      ({ question }) =>
        askHttp(port, formatRequest({ path: `/${key}/info`, body: JSON.stringify(question) })),
    ],
    [
      `GET (${name})`,
      ({ question }) =>
        askHttp(port, formatRequest({ method: 'GET', path: `/${key}/info?${queryOf(question)}` })),
    ],
  ]),
  ['push', askPush],
];

async function findFault(one: SourceCase, ask: Ask): Promise<string | undefined> {
  const seen = await ask(one);
  const height = one.exchangeAnswer === undefined ? `${PAST_HEIGHT}` : undefined;
  try {
    assert.deepEqual(seen, { status: 200, height, body: expectedBody(one) });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function isListed(one: SourceCase, transport: string): boolean {
  return DEVIATIONS.some((each) => each.case === one.name && each.transport === transport);
}

for (const [transport, ask] of WAYS) {
  test(`every answer of the archive and of the exchange is the one of the table: ${transport}`, async () => {
    const faults: string[] = [];
    for (const one of CASES) {
      const fault = await findFault(one, ask);
      if (isListed(one, transport)) {
        if (fault === undefined) faults.push(`${one.name} passes: take it off DEVIATIONS`);
      } else if (fault !== undefined) faults.push(`${one.name}: ${fault}`);
    }
    assert.equal(faults.join('\n'), '');
  });
}

test('every listed deviation names a case and a transport of the table', () => {
  for (const { case: name, transport } of DEVIATIONS) {
    assert.ok(
      CASES.some((one) => one.name === name),
      name,
    );
    assert.ok(
      WAYS.some(([way]) => way === transport),
      transport,
    );
  }
});
