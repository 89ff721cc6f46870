/** The tag of an answer to a GET, block by block: what says the same is not sent again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import type { StateView } from '../../src/state/state.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { type Answer, type Client, createKey, startService } from '../../tools/harness/running.ts';
import { withoutTime } from '../../tools/harness/without-time.ts';
import { openSteppedLedger } from '../push/stepped-ledger.ts';
import { ALSO_FULL, scale } from '../scale.ts';

const place = createPlaces();
const STRANGER = '0x00000000000000000000000000000000000000aa';

interface Poller {
  readonly client: Client;
  readonly key: string;
}

type Question = Readonly<Record<string, string | number | readonly string[]>>;

function queryFor(question: Question): string {
  const pairs = Object.entries(question).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return new URLSearchParams(pairs).toString();
}

function poll({ client, key }: Poller, question: Question, tag?: string): Promise<Answer> {
  const headers = tag === undefined ? {} : { 'If-None-Match': tag };
  return client.send({ path: `/${key}/info?${queryFor(question)}`, headers });
}

function tagOf({ headers }: Answer): string {
  assert.match(headers.etag ?? '', /^W\/"[\w-]{12}-\w+-\d+"$/);
  return headers.etag ?? '';
}

const simulator = createSimulator({ seed: 'polling', accounts: 20 });
const START = 60;
const lines = Array.from({ length: START + scale(20, 60) }, () => simulator.next());

/** Somebody with a position, whose account so changes with every mark. */
function findTrader(state: StateView): string {
  for (let row = 1; ; row++) {
    const user = formatAddress(state.addresses.addressOf(row));
    if (answerQuestion(state, { type: 'clearinghouseState', user }).includes('"coin"')) return user;
  }
}

test(
  'the tag changes exactly when the answer does, its time left aside',
  ALSO_FULL,
  async (context) => {
    const folder = place();
    const ledger = await openSteppedLedger(context, folder);
    for (const line of lines.slice(0, START)) await ledger.append(line);
    const { secret: key } = await createKey(folder);
    const service = await startService(context, { data: folder, flags: ['--max-age', '0'] });
    await service.untilCaughtUp(START);
    const client = service.connect();
    const user = findTrader(ledger.state);
    const questions: Question[] = [
      { type: 'clearinghouseState', user },
      { type: 'clearinghouseState', user: STRANGER },
      { type: 'allDexsClearinghouseState', user },
      { type: 'delegations', user },
      { type: 'perpDeployAuctionStatus' },
      { type: 'exchangeStatus' },
      { type: 'perpDexs' },
    ];
    const last = await Promise.all(questions.map((question) => poll({ client, key }, question)));
    const outcomes = new Set<string>();
    for (const line of lines.slice(START)) {
      await ledger.append(line);
      await client.ask(key, questions[1], { 'Ledger-Min-Height': ledger.state.height });
      for (const [index, question] of questions.entries()) {
        const posted = await client.ask(key, question);
        const polled = await poll({ client, key }, question, tagOf(last[index]));
        const isSame = withoutTime(posted.body) === withoutTime(last[index].body);
        assert.equal(polled.status, isSame ? 304 : 200, `${queryFor(question)}`);
        assert.equal(tagOf(polled) === tagOf(last[index]), isSame);
        assert.equal(polled.body, isSame ? '' : posted.body);
        assert.equal(polled.headers['ledger-height'], String(ledger.state.height));
        assert.equal(polled.headers['ledger-time'], String(ledger.state.time));
        outcomes.add(`${question['type']} ${polled.status}`);
        if (!isSame) last[index] = polled;
      }
    }
    assert.ok(outcomes.has('clearinghouseState 200') && outcomes.has('clearinghouseState 304'));
    assert.ok(outcomes.has('exchangeStatus 304') && !outcomes.has('exchangeStatus 200'));
  },
);
