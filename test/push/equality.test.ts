/**
 * Push equals poll: what a subscriber is sent, in order, is what somebody would have seen who had
 * asked at every height and passed over answers whose tag said that they had not changed.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createPlaces, run } from '../../tools/harness/program.ts';
import { connectPush, type PushClient, type PushedState } from '../../tools/harness/push-client.ts';
import {
  type Client,
  createKey,
  type RunningService,
  startService,
} from '../../tools/harness/running.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { withoutTime } from '../../tools/harness/without-time.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { openSteppedLedger, type SteppedLedger } from './stepped-ledger.ts';

/** In the long run a simulated hour: a block every ten seconds. */
const BLOCKS = scale(15, 15, 360);
const ACCOUNTS = 60;
const SUBSCRIPTIONS = 40;
/** Share of states that say the same again: a change that no figure shows, such as of collateral. */
const REPEATED_MAX = 0.02;
/** Number of pushed states that are checked again with `perpinfo query`. */
const QUERIES = scale(3, 8);

const place = createPlaces();

interface Subscription {
  readonly type: string;
  readonly user?: string;
  readonly dex?: string;
}

/** What one subscription was sent, or would have been: the height and the answer. */
interface Sighting {
  readonly height: number;
  readonly answer: string;
}

/** Subscriptions of all types to users that the exchange has, and to some that it has not. */
function chooseSubscriptions({ state }: SteppedLedger, random: Random): Subscription[] {
  const dexes = state.markets.dexes.map(({ name }) => name);
  const users = Array.from({ length: state.addresses.table.rowCount - 1 }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  const chosen = new Map<string, Subscription>();
  const add = (subscription: Subscription) =>
    chosen.set(JSON.stringify(subscription), subscription);
  add({ type: 'perpDeployAuctionStatus' });
  add({ type: 'allMids' });
  add({ type: 'allMids', dex: dexes[1] });
  add({ type: 'webData2', user: random.pick(users) });
  add({ type: 'clearinghouseState', user: '0x00000000000000000000000000000000000000aa', dex: '' });
  while (chosen.size < SUBSCRIPTIONS) {
    const user = random.pick(users);
    const kind = random.pick(['one', 'one', 'one', 'all', 'stakes']);
    if (kind === 'one') add({ type: 'clearinghouseState', user, dex: random.pick(dexes) });
    else if (kind === 'all') add({ type: 'allDexsClearinghouseState', user });
    else add({ type: 'delegations', user });
  }
  return [...chosen.values()];
}

const PAYLOADS: Readonly<Record<string, string>> = {
  clearinghouseState: 'clearinghouseState',
  allDexsClearinghouseState: 'clearinghouseStates',
  delegations: 'delegations',
  perpDeployAuctionStatus: 'perpDeployAuctionStatus',
  allMids: 'mids',
};

/** Takes a state off the connection: whose it is, and what it shows. */
async function takeState(client: PushClient): Promise<[string, Sighting]> {
  const { channel, data } = await client.nextFrame();
  if (channel === 'webData2') return takeWebData(data as PushedState);
  assert.ok(channel in PAYLOADS, channel);
  const { [PAYLOADS[channel]]: payload, height, time, ...fields } = data as PushedState;
  assert.ok(time > 0);
  return [
    JSON.stringify({ type: channel, ...fields }),
    { height, answer: JSON.stringify(payload) },
  ];
}

/** The state whose members are those of the data. */
function takeWebData({ height, time, ...answer }: PushedState): [string, Sighting] {
  assert.equal(time, answer['serverTime']);
  const name = JSON.stringify({ type: 'webData2', user: answer['user'] });
  return [name, { height, answer: JSON.stringify(answer) }];
}

async function subscribeAll(client: PushClient, all: readonly Subscription[]): Promise<Seen> {
  const seen: Seen = new Map();
  for (const subscription of all) {
    client.subscribe(subscription);
    await client.next('subscriptionResponse');
    const [name, sighting] = await takeState(client);
    seen.set(name, [sighting]);
  }
  return seen;
}

/** The sightings of each subscription, in order. */
type Seen = Map<string, Sighting[]>;

interface Stage {
  readonly folder: string;
  readonly ledger: SteppedLedger;
  readonly lines: readonly string[];
  readonly service: RunningService;
  readonly client: PushClient;
  readonly asking: Client;
  readonly key: string;
  readonly subscriptions: readonly Subscription[];
}

/** A service on the exchange's beginning, and a connection to it. */
async function setStage(context: TestContext, name: string, interval: string): Promise<Stage> {
  const folder = place(name);
  const ledger = await openSteppedLedger(context, folder);
  const simulator = createSimulator({ seed: `${name} ${SEED}`, accounts: ACCOUNTS });
  const start: string[] = [];
  while (!simulator.isSetUp) start.push(simulator.next());
  for (const line of start) await ledger.append(line);
  const { secret: key } = await createKey(folder);
  const flags = ['--max-age', '0', '--push-interval', interval];
  const service = await startService(context, { data: folder, flags });
  await service.untilCaughtUp(ledger.state.height);
  return {
    ...{ folder, ledger, service, key },
    lines: Array.from({ length: BLOCKS }, () => simulator.next()),
    client: await connectPush(context, { port: service.port, key }),
    asking: service.connect(),
    subscriptions: chooseSubscriptions(ledger, new Random(`${name} ${SEED}`)),
  };
}

function lastAnswer(seen: Seen, name: string): string {
  return seen.get(name)?.at(-1)?.answer ?? '';
}

test(
  `block by block, every change is pushed and nothing else ${SEED_NOTE}`,
  ALSO_FULL,
  async (context) => {
    const { ledger, lines, client, subscriptions } = await setStage(context, 'stepped', '0');
    const seen = await subscribeAll(client, subscriptions);
    let pushed = 0;
    let repeated = 0;
    for (const line of lines) {
      await ledger.append(line);
      const { state } = ledger;
      const expected = new Map<string, Sighting>();
      for (const subscription of subscriptions) {
        const name = JSON.stringify(subscription);
        const answer = answerQuestion(state, subscription);
        const isSame = withoutTime(answer) === withoutTime(lastAnswer(seen, name));
        const isMarked = parseQuestion(subscription).changedAt(state) === state.height;
        assert.ok(isSame || isMarked, name);
        if (!isMarked) continue;
        expected.set(name, { height: state.height, answer });
        if (isSame) repeated += 1;
      }
      const came = new Map<string, Sighting>();
      while (came.size < expected.size) came.set(...(await takeState(client)));
      assert.deepEqual(came, new Map([...came.keys()].map((name) => [name, expected.get(name)])));
      for (const [name, sighting] of came) seen.get(name)?.push(sighting);
      pushed += came.size;
    }
    await client.isQuiet();
    assert.ok(pushed > BLOCKS, `${pushed} states were pushed`);
    assert.ok(repeated < pushed * REPEATED_MAX, `${repeated} of ${pushed} said the same again`);
  },
);

test(`at full speed, what is pushed is what was there ${SEED_NOTE}`, ALSO_FULL, async (context) => {
  const stage = await setStage(context, 'fast', '20');
  const { ledger, lines, client, asking, subscriptions, key } = stage;
  const seen = await subscribeAll(client, subscriptions);
  /** The answers at each height, by subscription. */
  const answers = new Map<number, Map<string, string>>();
  const note = () => {
    const all = subscriptions.map(
      (subscription) =>
        [JSON.stringify(subscription), answerQuestion(ledger.state, subscription)] as const,
    );
    answers.set(ledger.state.height, new Map(all));
  };
  note();
  for (const line of lines) {
    await ledger.append(line);
    note();
  }
  const { height: head } = ledger.state;
  await asking.ask(key, { type: 'exchangeStatus' }, { 'Ledger-Min-Height': head });
  const last = answers.get(head) ?? new Map<string, string>();
  const isAtEnd = () =>
    [...last].every(
      ([name, answer]) => withoutTime(lastAnswer(seen, name)) === withoutTime(answer),
    );
  while (!isAtEnd()) {
    const [name, sighting] = await takeState(client);
    seen.get(name)?.push(sighting);
  }
  await sleep(100);
  await client.isQuiet();
  for (const [name, sightings] of seen) checkSightings(name, sightings, answers);
  await checkWithQueries(stage, seen);
});

/** Each is the answer at its height, and heights go up; one that changed below a unit may come again. */
function checkSightings(
  name: string,
  sightings: readonly Sighting[],
  answers: ReadonlyMap<number, ReadonlyMap<string, string>>,
): void {
  sightings.forEach(({ height, answer }, index) => {
    assert.equal(answer, answers.get(height)?.get(name), `${name} at ${height}`);
    if (index === 0) return;
    const before = sightings[index - 1];
    assert.ok(height > before.height, name);
  });
}

/** Some of them again, as whoever has only the program would check them. */
async function checkWithQueries({ folder }: Stage, seen: Seen): Promise<void> {
  const all = [...seen].flatMap(([name, sightings]) =>
    sightings.map((sighting) => ({ name, ...sighting })),
  );
  const step = Math.max(1, Math.floor(all.length / QUERIES));
  for (const { name, height, answer } of all.filter((_, index) => index % step === 0)) {
    const { stdout } = await run(['query', '--data', folder, '--at', String(height), name]);
    assert.equal(stdout, `${answer}\n`);
  }
}
