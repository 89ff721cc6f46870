/**
 * What perpinfo relies on of a NATS server, as a script of requests and their outcomes. It runs against
 * the simulated server and against a real one (test/cluster/contract.test.ts).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from '../../../src/ledger/jetstream/nats.ts';

interface Step {
  readonly what: string;
  run(link: NatsLink): Promise<unknown>;
  readonly outcome: string;
}

const NAME = 'contract';
const SUBJECT = `perpinfo.${NAME}.blocks`;
const BUCKET = 'contract-bucket';
const OBJECTS = 'contract-objects';
const FETCH_MS = 1_000;
/** By then a consumer is there. */
const PUBLISH_MS = 200;

interface Publication {
  readonly id?: string;
  readonly expect?: Readonly<Record<string, string | number>>;
}

async function publish({ streams }: NatsLink, { id, expect }: Publication): Promise<string> {
  const options = { ...(id && { msgID: id }), ...(expect && { expect }) };
  const { seq, duplicate } = await streams.publish(SUBJECT, `line ${id}`, options);
  return `${seq}${duplicate ? ' duplicate' : ''}`;
}

async function describe({ manager }: NatsLink): Promise<string> {
  const { state } = await manager.streams.info(NAME);
  return `${state.messages} messages, ${state.first_seq} to ${state.last_seq}`;
}

async function read({ manager }: NatsLink, seq: number): Promise<string> {
  const message = await manager.streams.getMessage(NAME, { seq });
  if (message === null) return 'none';
  return `${message.seq} ${message.string()} ${message.header.get('Nats-Msg-Id')}`;
}

async function readDirectly({ manager }: NatsLink, seq: number): Promise<string> {
  const message = await manager.direct.getMessage(NAME, { seq });
  return message === null ? 'none' : `${message.seq} ${message.string()} ${message.subject}`;
}

/** Fetches from a sequence on, until the request is complete or expires. */
async function fetch(link: NatsLink, from: number, count: number): Promise<string> {
  const { manager, streams, modules } = link;
  const { AckPolicy, DeliverPolicy } = modules.stream;
  const info = await manager.consumers.add(NAME, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: from,
    mem_storage: true,
    num_replicas: 1,
  });
  const consumer = streams.consumers.getConsumerFromInfo(info);
  const messages = await consumer.fetch({ max_messages: count, expires: FETCH_MS });
  const seen: string[] = [`${info.num_pending} pending:`];
  for await (const message of messages) {
    seen.push(`${message.seq} ${message.string()} (${message.info.pending})`);
  }
  seen.push(`deleted ${await consumer.delete()}`);
  return seen.join(' ');
}

async function listKeys(link: NatsLink, key = '>'): Promise<string> {
  const bucket = await link.openBucket(BUCKET);
  const seen: string[] = [];
  for await (const entry of await bucket.history({ key })) {
    seen.push(`${entry.key} ${entry.operation} ${entry.string()} ${entry.revision}`);
  }
  return seen.join(', ');
}

async function getKey(link: NatsLink, key: string): Promise<string> {
  const entry = await (await link.openBucket(BUCKET)).get(key);
  return entry === null ? 'none' : `${entry.operation} ${entry.string()} ${entry.revision}`;
}

async function putObject(link: NatsLink, name: string, text: string, previous: number) {
  const objects = await link.openObjects(OBJECTS);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(text));
      controller.close();
    },
  });
  const info = await objects.put({ name }, stream, { previousRevision: previous });
  return `${info.size} bytes, revision ${info.revision}`;
}

async function getObject(link: NatsLink, name: string): Promise<string> {
  const object = await (await link.openObjects(OBJECTS)).get(name);
  if (object === null) return 'none';
  const chunks: Uint8Array[] = [];
  for await (const chunk of object.data as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return `${Buffer.concat(chunks)} ${(await object.error) ?? 'whole'}`;
}

async function listObjects(link: NatsLink): Promise<string> {
  const objects = await (await link.openObjects(OBJECTS)).list();
  return objects.map(({ name, size }) => `${name} ${size}`).join(', ');
}

/** A string of that many characters, longer than one chunk of an object. */
const LONG = 'x'.repeat(200_000);

function step(what: string, run: Step['run'], outcome: string): Step {
  return { what, run, outcome };
}

const WRONG = 'JetStreamApiError 400';

const STREAM_STEPS: readonly Step[] = [
  step('info of no stream', describe, 'StreamNotFoundError 404 10059: stream not found'),
  step(
    'publish without a stream',
    (link) => publish(link, { id: 'a' }),
    'JetStreamNotEnabled: jetstream is not enabled',
  ),
  step(
    'delete no stream',
    ({ manager }) => manager.streams.delete(NAME),
    'StreamNotFoundError 404 10059: stream not found',
  ),
  step('create', createStream, 'contract limits file direct'),
  step('create again', createStream, 'contract limits file direct'),
  step('info of an empty stream', describe, '0 messages, 0 to 0'),
  step('read from an empty stream', (link) => read(link, 1), 'none'),
  step('publish', (link) => publish(link, { id: 'a', expect: { lastSequence: 0 } }), '1'),
  step(
    'publish again',
    (link) => publish(link, { id: 'a', expect: { lastSequence: 0 } }),
    '1 duplicate',
  ),
  step(
    'publish too early',
    (link) => publish(link, { id: 'c', expect: { lastSequence: 2 } }),
    `${WRONG} 10071: wrong last sequence: 1`,
  ),
  step(
    'publish too late',
    (link) => publish(link, { id: 'b', expect: { lastSequence: 0 } }),
    `${WRONG} 10071: wrong last sequence: 1`,
  ),
  step(
    'publish after another id',
    (link) => publish(link, { id: 'b', expect: { lastSequence: 1, lastMsgID: 'z' } }),
    `${WRONG} 10070: wrong last msg ID: a`,
  ),
  step(
    'publish for another stream',
    (link) => publish(link, { id: 'b', expect: { streamName: 'other' } }),
    `${WRONG} 10060: expected stream does not match`,
  ),
  step(
    'publish after the id',
    (link) => publish(link, { id: 'b', expect: { lastSequence: 1, lastMsgID: 'a' } }),
    '2',
  ),
  step(
    "publish after the subject's last",
    (link) => publish(link, { id: 'c', expect: { lastSubjectSequence: 2 } }),
    '3',
  ),
  step(
    "publish not after the subject's last",
    (link) => publish(link, { id: 'd', expect: { lastSubjectSequence: 2 } }),
    `${WRONG} 10071: wrong last sequence: 3`,
  ),
  step(
    'publish several at once',
    async (link) => {
      const ids = ['d', 'e', 'f'];
      return Promise.all(
        ids.map((id, index) => publish(link, { id, expect: { lastSequence: 3 + index } })),
      );
    },
    '4,5,6',
  ),
  step('info', describe, '6 messages, 1 to 6'),
  step('read', (link) => read(link, 2), '2 line b b'),
  step('read directly', (link) => readDirectly(link, 2), `2 line b ${SUBJECT}`),
  step('read beyond the end', (link) => read(link, 7), 'none'),
  step('read beyond the end directly', (link) => readDirectly(link, 7), 'none'),
];

const CONSUMER_STEPS: readonly Step[] = [
  step(
    'fetch from the start',
    (link) => fetch(link, 1, 3),
    '6 pending: 1 line a (5) 2 line b (4) 3 line c (3) deleted true',
  ),
  step(
    'fetch until it expires',
    (link) => fetch(link, 5, 3),
    '2 pending: 5 line e (1) 6 line f (0) deleted true',
  ),
  step('fetch beyond the end', (link) => fetch(link, 8, 1), '0 pending: deleted true'),
  step('purge', async ({ manager }) => (await manager.streams.purge(NAME, { seq: 4 })).purged, '3'),
  step('info after a purge', describe, '3 messages, 4 to 6'),
  step('read what was purged', (link) => read(link, 3), 'none'),
  step('read what was purged directly', (link) => readDirectly(link, 3), 'none'),
  step(
    'fetch from before the first',
    (link) => fetch(link, 2, 1),
    '3 pending: 4 line d (2) deleted true',
  ),
  step('publish a purged id', (link) => publish(link, { id: 'a' }), '1 duplicate'),
  step(
    'purge all',
    async ({ manager }) => (await manager.streams.purge(NAME, { seq: 7 })).purged,
    '3',
  ),
  step('info after purging all', describe, '0 messages, 7 to 6'),
  step(
    'publish after purging all',
    (link) => publish(link, { id: 'g', expect: { lastSubjectSequence: 0 } }),
    '7',
  ),
  step('publish another', (link) => publish(link, { id: 'h', expect: { lastSequence: 7 } }), '8'),
  step(
    'a consumer beyond the end starts with the next message',
    async (link) => {
      const fetching = fetch(link, 20, 1);
      await sleep(PUBLISH_MS);
      return [await publish(link, { id: 'i' }), await fetching];
    },
    '9,0 pending: 9 line i (0) deleted true',
  ),
  step('delete the last', ({ manager }) => manager.streams.deleteMessage(NAME, 9), 'true'),
  step('info after deleting the last', describe, '2 messages, 7 to 9'),
  step('read what was deleted', (link) => read(link, 9), 'none'),
  step(
    'delete it again',
    ({ manager }) => manager.streams.deleteMessage(NAME, 9),
    'JetStreamApiError 400 10043: sequence 9 not found',
  ),
  step('delete', ({ manager }) => manager.streams.delete(NAME), 'true'),
  step('info after deleting', describe, 'StreamNotFoundError 404 10059: stream not found'),
  step('create after deleting', createStream, 'contract limits file direct'),
  step(
    'move an empty stream ahead',
    ({ manager }) => manager.streams.purge(NAME, { seq: 10 }).then(({ purged }) => purged),
    '0',
  ),
  step('info after moving ahead', describe, '0 messages, 10 to 9'),
  step(
    'publish after moving ahead',
    (link) => publish(link, { id: 'a', expect: { lastSubjectSequence: 0 } }),
    '10',
  ),
];

async function onBucket<T>(
  link: NatsLink,
  use: (bucket: Awaited<ReturnType<NatsLink['openBucket']>>) => Promise<T>,
) {
  return use(await link.openBucket(BUCKET));
}

const BUCKET_STEPS: readonly Step[] = [
  step('get no key', (link) => getKey(link, 'k'), 'none'),
  step('list no keys', (link) => listKeys(link), ''),
  step('create a key', (link) => onBucket(link, (kv) => kv.create('k', 'one')), '1'),
  step(
    'create it again',
    (link) => onBucket(link, (kv) => kv.create('k', 'two')),
    `${WRONG} 10071: wrong last sequence: 1`,
  ),
  step('get the key', (link) => getKey(link, 'k'), 'PUT one 1'),
  step('update it', (link) => onBucket(link, (kv) => kv.update('k', 'two', 1)), '2'),
  step(
    'update an old revision',
    (link) => onBucket(link, (kv) => kv.update('k', 'three', 1)),
    `${WRONG} 10071: wrong last sequence: 2`,
  ),
  step(
    'put others',
    (link) =>
      onBucket(link, async (kv) => [await kv.put('used.a', '1'), await kv.put('used.b', '2')]),
    '3,4',
  ),
  step('list keys', (link) => listKeys(link), 'k PUT two 2, used.a PUT 1 3, used.b PUT 2 4'),
  step('list some keys', (link) => listKeys(link, 'used.*'), 'used.a PUT 1 3, used.b PUT 2 4'),
  step(
    'delete an old revision',
    (link) => onBucket(link, (kv) => kv.delete('k', { previousSeq: 1 })),
    `${WRONG} 10071: wrong last sequence: 2`,
  ),
  step(
    'delete a key',
    (link) => onBucket(link, (kv) => kv.delete('k', { previousSeq: 2 })),
    'undefined',
  ),
  step('get a deleted key', (link) => getKey(link, 'k'), 'DEL  5'),
  step('list with a deleted key', (link) => listKeys(link, 'k'), 'k DEL  5'),
  step('create a deleted key', (link) => onBucket(link, (kv) => kv.create('k', 'again')), '6'),
];

const OBJECT_STEPS: readonly Step[] = [
  step('list no objects', listObjects, ''),
  step('get no object', (link) => getObject(link, 'o'), 'none'),
  step('put an object', (link) => putObject(link, 'o', 'bytes', 0), '5 bytes, revision 2'),
  step('get an object', (link) => getObject(link, 'o'), 'bytes whole'),
  step(
    'put an object that is there',
    (link) => putObject(link, 'o', 'other', 0),
    `${WRONG} 10071: wrong last sequence: 2`,
  ),
  step(
    'put an object of two chunks',
    (link) => putObject(link, 'p', LONG, 0),
    '200000 bytes, revision 6',
  ),
  step('get an object of two chunks', (link) => getObject(link, 'p'), `${LONG} whole`),
  step('list objects', listObjects, 'o 5, p 200000'),
  step(
    'delete an object',
    async (link) => (await (await link.openObjects(OBJECTS)).delete('o')).purged,
    '1',
  ),
  step('list what is left', listObjects, 'p 200000'),
];

async function createStream({ manager, modules }: NatsLink): Promise<string> {
  const { config } = await manager.streams.add({
    name: NAME,
    subjects: [SUBJECT],
    retention: modules.stream.RetentionPolicy.Limits,
    storage: modules.stream.StorageType.File,
    allow_direct: true,
    duplicate_window: modules.transport.nanos(120_000),
  });
  return `${config.name} ${config.retention} ${config.storage} ${config.allow_direct ? 'direct' : ''}`;
}

const STEPS = [...STREAM_STEPS, ...CONSUMER_STEPS, ...BUCKET_STEPS, ...OBJECT_STEPS];

/** One line for each step, as a server should give it. */
export const CONTRACT: readonly string[] = STEPS.map(({ what, outcome }) => `${what}: ${outcome}`);

/** One line for each step, as this server gives it. */
export async function runContract(link: NatsLink): Promise<string[]> {
  const lines: string[] = [];
  for (const { what, run } of STEPS) {
    const outcome = await run(link).then(String, describeError);
    lines.push(`${what}: ${outcome}`);
  }
  return lines;
}

function describeError(
  error: Error & { readonly status?: number; readonly code?: number },
): string {
  const { name, status, code, message } = error;
  return status === undefined ? `${name}: ${message}` : `${name} ${status} ${code}: ${message}`;
}
