import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestion } from '../../src/info/read-question.ts';
import type { StateView } from '../../src/state/state.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import {
  type Cleanup,
  type Client,
  createKey,
  type RunningService,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { readRssMib } from '../../tools/harness/service.ts';
import { LONG_ONLY, scale } from '../scale.ts';
import { Crowd, contentOf, drawWishes, requireOpenFiles, type Subscriber } from './crowd.ts';
import { createLiveLedger, type LiveLedger } from './live-ledger.ts';

const place = createPlaces();

const ACCOUNTS = scale(250, 250, 2000);
const SIZES = { connections: scale(100, 100, 1000), each: 10 };
/** In this time the engine's heap takes the size that the load asks for. */
const WARM_UP_MS = scale(1000, 1000, 3000);
const RUN_MS = scale(2500, 2500, 15_000);
/** A busy machine may make a crowd wait; the test's suite has a budget of its own. */
const SERVICE_MS_MAX = 200_000;
/**
 * Ten times the default, for a machine that is busy with other work. A service that looked at all
 * subscriptions before it turned to requests would be later than this.
 */
const FLAGS = ['--overload-delay', '2500'];

/**
 * What the garbage of the moment may add to the memory. Some thousand states of one or two kilobytes
 * are sent each second: whatever was kept of each of them would come to more.
 */
const GROWTH_SHARE_MAX = 0.3;
const GROWTH_MIB_MAX = 40;

/** A state may come again as it was, if it has changed and changed back; most have not. */
const REPEATS_SHARE_MAX = 0.05;

/** An ordinary client, which asks again and again until it is told to stop. */
class Asker {
  /** How many answers had which status. */
  readonly statuses = new Map<number, number>();
  readonly #asking: Promise<void>;
  #isOver = false;

  constructor(client: Client, secret: string, users: readonly string[]) {
    this.#asking = this.#ask(client, secret, users);
  }

  async #ask(client: Client, secret: string, users: readonly string[]): Promise<void> {
    for (let asked = 0; !this.#isOver; asked++) {
      const user = users[asked % users.length];
      const { status } = await client.ask(secret, { type: 'clearinghouseState', user });
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      await sleep(20);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#asking;
  }
}

interface Scene {
  readonly live: LiveLedger;
  readonly service: RunningService;
  readonly crowd: Crowd;
  readonly asker: Asker;
}

/** A live exchange, one worker on it, someone who asks, and the crowd, all of it subscribed. */
async function gather(context: Cleanup): Promise<Scene> {
  const data = place();
  const live = await createLiveLedger(data, { seed: SEED, accounts: ACCOUNTS });
  context.after(() => live.close());
  const { secret } = await createKey(data);
  const options = { data, flags: FLAGS, runMsMax: SERVICE_MS_MAX };
  const service = await startService(context, options);
  await service.untilCaughtUp(live.state.height);
  live.run();
  const { users } = live;
  const asker = new Asker(service.connect(), secret, users);
  const crowd = new Crowd();
  context.after(() => crowd.close());
  const dexes = live.state.markets.dexes.map(({ name }) => name);
  const wishes = drawWishes(`crowd/${SEED}`, { users, dexes }, SIZES);
  await crowd.connect({ port: service.port, secret }, wishes);
  return { live, service, crowd, asker };
}

/** Whether what a subscriber was sent last is what the state says. */
function isCurrent({ wish, content }: Subscriber, state: StateView): boolean {
  return content === contentOf(answerQuestion(state, { type: 'clearinghouseState', ...wish }));
}

test(
  `a crowd of connections with ten subscriptions each ends on the last state ${SEED_NOTE}`,
  LONG_ONLY,
  async (context) => {
    requireOpenFiles(SIZES.connections);
    const { live, service, crowd, asker } = await gather(context);
    await sleep(WARM_UP_MS);
    const mibBefore = readRssMib(service.program);
    await sleep(RUN_MS);
    const mibAfter = readRssMib(service.program);
    await live.stop();
    await until('every subscriber to have the last state', () =>
      crowd.subscribers.every((subscriber) => isCurrent(subscriber, live.state)),
    );
    await asker.stop();

    // Heights that do not go up are among the faults.
    assert.deepEqual(crowd.faults, []);
    const repeats = crowd.subscribers.reduce((sum, subscriber) => sum + subscriber.repeats, 0);
    assert.ok(repeats < crowd.updateCount * REPEATS_SHARE_MAX, `${repeats} repeats`);
    assert.equal(crowd.subscribers.length, SIZES.connections * SIZES.each);
    assert.ok(crowd.updateCount > crowd.subscribers.length, `${crowd.updateCount} updates`);
    assert.deepEqual([...asker.statuses.keys()], [200]);
    const mibMax = mibBefore * (1 + GROWTH_SHARE_MAX) + GROWTH_MIB_MAX;
    assert.ok(mibAfter < mibMax, `${mibBefore} MiB grew to ${mibAfter}`);
    context.diagnostic(
      `${crowd.updateCount} updates, ${repeats} repeats, ${asker.statuses.get(200)} answers, ` +
        `${mibBefore.toFixed(0)} MiB and then ${mibAfter.toFixed(0)}`,
    );
  },
);
