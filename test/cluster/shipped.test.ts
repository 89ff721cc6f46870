/** The files of deploy/cluster: what clients of nginx see while replicas are cut off and restarted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { joinLines, succeed } from '../../tools/harness/program.ts';
import { type Answer, Client, LIGHT, until } from '../../tools/harness/running.ts';
import { MAX_BEHIND_MS, ShippedCluster, type ShippedReplica } from './shipped-cluster.ts';

const ASK_MS = 5;
const TRY_AGAIN_LATER = 1013;

class Feed {
  readonly #address: string;
  height = 0;

  constructor(address: string) {
    this.#address = address;
  }

  async append(count: number): Promise<void> {
    const blocks = Array.from({ length: count }, (_, index) =>
      JSON.stringify({ height: this.height + 1 + index, time: Date.now() + index, events: [] }),
    );
    const flags = ['--ledger', this.#address, '--nats-replicas', '3'];
    await succeed(['append', ...flags], { input: joinLines(blocks) });
    this.height += count;
  }
}

/** Asks one question after the other through nginx, and keeps the answers. */
class Asker {
  readonly #client: Client;
  readonly #secret: string;
  readonly answers: Answer[] = [];
  #isDone = false;

  constructor(port: number, secret: string) {
    this.#client = new Client(port);
    this.#secret = secret;
  }

  async run(): Promise<void> {
    while (!this.#isDone) {
      this.answers.push(await this.#client.ask(this.#secret, LIGHT));
      await sleep(ASK_MS);
    }
    this.#client.close();
  }

  async untilAsked(count: number): Promise<void> {
    const end = this.answers.length + count;
    await until(`${count} answers`, () => this.answers.length >= end);
  }

  stop(): void {
    this.#isDone = true;
  }
}

async function statusOf(replica: ShippedReplica): Promise<string> {
  return JSON.parse((await replica.health()).body).status;
}

/** On so many connections that each worker gets some of them. */
async function refusesAll({ port }: ShippedReplica, secret: string): Promise<boolean> {
  for (let asked = 0; asked < 20; asked++) {
    const client = new Client(port);
    const { status, body } = await client.ask(secret, LIGHT);
    client.close();
    if (status !== 503) return false;
    assert.match(body, /not known to be up to date for \d+ s/);
  }
  return true;
}

async function untilReady(cluster: ShippedCluster, height: number): Promise<void> {
  for (const replica of cluster.replicas) await replica.service?.untilCaughtUp(height);
  const client = new Client(cluster.port);
  await until(
    'nginx to answer',
    async () => (await client.send({ path: '/health' })).status === 200,
  );
  client.close();
}

/** So many that nginx asks either replica first; one of them refuses, and the other does not run. */
function askTooEarly({ port }: ShippedCluster, secret: string): Promise<number[]> {
  const asked = Array.from({ length: 8 }, async () => {
    const client = new Client(port);
    const { status } = await client.ask(secret, LIGHT, { 'Ledger-Min-Height': 1e9 });
    client.close();
    return status;
  });
  return Promise.all(asked);
}

function heightOf({ headers }: Answer): number {
  return Number(headers['ledger-height']);
}

function countByStatus(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test('the shipped cluster hides cut off and restarted replicas, and logs no key', async (context) => {
  const cluster = await ShippedCluster.start(context);
  const feed = new Feed(cluster.ledger);
  await feed.append(3);
  const secret = await cluster.createKey();
  await Promise.all(cluster.replicas.map((replica) => replica.start()));
  await untilReady(cluster, feed.height);
  const asker = new Asker(cluster.port, secret);
  const asking = asker.run();
  const [first, second] = cluster.replicas;

  await context.test('a feed that pauses is no reason to refuse', async () => {
    await sleep(MAX_BEHIND_MS + 500);
    for (const replica of cluster.replicas) assert.equal(await statusOf(replica), 'ok');
  });

  await context.test(
    'a replica that is cut off refuses after a while, and sends push away',
    async () => {
      const socket = new WebSocket(`ws://127.0.0.1:${first.port}/${secret}/ws`);
      const closed = new Promise<number>((resolve) => socket.once('close', resolve));
      await new Promise((resolve) => socket.once('open', resolve));
      first.cut();
      await feed.append(3);
      await until('the replica to refuse', async () => (await statusOf(first)) === 'cut_off');
      assert.equal(await closed, TRY_AGAIN_LATER);
      await until('both workers to refuse', () => refusesAll(first, secret));
      await until('only new answers', async () => {
        const from = asker.answers.length;
        await asker.untilAsked(50);
        return asker.answers.slice(from).every((answer) => heightOf(answer) === feed.height);
      });
    },
  );

  await context.test('a replica that is connected again answers again', async () => {
    first.mend();
    await until('the replica to be back', async () => (await statusOf(first)) === 'ok');
  });

  await context.test('what a frozen replica holds is answered by the other one', async () => {
    first.freeze();
    try {
      // So many that nginx asks either replica first.
      const asked = Array.from({ length: 8 }, async () => {
        const client = new Client(cluster.port);
        const { status } = await client.ask(secret, LIGHT);
        client.close();
        return status;
      });
      assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]));
    } finally {
      first.thaw();
    }
    await until('the replica to be back', async () => (await statusOf(first)) === 'ok');
  });

  await context.test('a rolling restart fails no request', async () => {
    for (const replica of [first, second]) {
      await replica.stop();
      await asker.untilAsked(20);
      assert.deepEqual(new Set(await askTooEarly(cluster, secret)), new Set([503]));
      await replica.start();
      await untilReady(cluster, feed.height);
    }
    assert.deepEqual(Object.keys(countByStatus(asker.answers)), ['200']);
  });

  await context.test('no key is in what nginx writes, also when nobody answers', async () => {
    await Promise.all(cluster.replicas.map((replica) => replica.stop()));
    await until('a failure', () => asker.answers.at(-1)?.status === 502);
    assert.doesNotMatch(cluster.nginx.stdout + cluster.nginx.stderr, new RegExp(secret));
  });

  asker.stop();
  await asking;
});
