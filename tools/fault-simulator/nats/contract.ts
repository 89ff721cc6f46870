/**
 * The behaviour of a NATS server that perpinfo relies on, as a script of requests and their
 * outcomes. The script runs against the simulated server and against a real server
 * (test/cluster/contract.test.ts).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from '../../../src/ledger/jetstream/nats.ts';

type Run = (link: NatsLink) => Promise<unknown>;
type Step = readonly [what: string, run: Run, outcome: string];

const NAME = 'contract';
const SUBJECT = `perpinfo.${NAME}.blocks`;
const BUCKET = 'contract-bucket';
const OBJECTS = 'contract-objects';
const FETCH_MS = 1_000;
/** The delay before a publish. It is long enough for a consumer to exist. */
const PUBLISH_MS = 200;

function publish(id: string, expect?: Readonly<Record<string, string | number>>) {
  return async ({ streams }: NatsLink): Promise<string> => {
    const options = { msgID: id, ...(expect && { expect }) };
    const { seq, duplicate } = await streams.publish(SUBJECT, `line ${id}`, options);
    return `${seq}${duplicate ? ' duplicate' : ''}`;
  };
}

async function describe({ manager }: NatsLink): Promise<string> {
  const { state } = await manager.streams.info(NAME);
  return `${state.messages} messages, ${state.first_seq} to ${state.last_seq}`;
}

function read(seq: number): Run {
  return async ({ manager }) => {
    const message = await manager.streams.getMessage(NAME, { seq });
    if (message === null) return 'none';
    return `${message.seq} ${message.string()} ${message.header.get('Nats-Msg-Id')}`;
  };
}

function readDirectly(seq: number): Run {
  return async ({ manager }) => {
    const message = await manager.direct.getMessage(NAME, { seq });
    return message === null ? 'none' : `${message.seq} ${message.string()} ${message.subject}`;
  };
}

/** Fetches messages from a sequence on, until the request is complete or expires. */
function fetch(from: number, count: number): Run {
  return async ({ manager, streams, modules }) => {
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
  };
}

const purge = (seq: number): Run => {
  return async ({ manager }) => (await manager.streams.purge(NAME, { seq })).purged;
};
const deleteStream: Run = ({ manager }) => manager.streams.delete(NAME);
const deleteLast: Run = ({ manager }) => manager.streams.deleteMessage(NAME, 9);

type Bucket = Awaited<ReturnType<NatsLink['openBucket']>>;

function onBucket(use: (bucket: Bucket) => Promise<unknown>): Run {
  return async (link) => use(await link.openBucket(BUCKET));
}

function listKeys(key = '>'): Run {
  return onBucket(async (bucket) => {
    const seen: string[] = [];
    for await (const entry of await bucket.history({ key })) {
      seen.push(`${entry.key} ${entry.operation} ${entry.string()} ${entry.revision}`);
    }
    return seen.join(', ');
  });
}

const getKey = onBucket(async (bucket) => {
  const entry = await bucket.get('k');
  return entry === null ? 'none' : `${entry.operation} ${entry.string()} ${entry.revision}`;
});

type Objects = Awaited<ReturnType<NatsLink['openObjects']>>;

function onObjects(use: (objects: Objects) => Promise<unknown>): Run {
  return async (link) => use(await link.openObjects(OBJECTS));
}

function putObject(name: string, text: string): Run {
  return onObjects(async (objects) => {
    const stream = new Blob([text]).stream() as ReadableStream<Uint8Array>;
    const info = await objects.put({ name }, stream, { previousRevision: 0 });
    return `${info.size} bytes, revision ${info.revision}`;
  });
}

function getObject(name: string): Run {
  return onObjects(async (objects) => {
    const object = await objects.get(name);
    if (object === null) return 'none';
    const chunks: Uint8Array[] = [];
    const data = object.data as unknown as AsyncIterable<Uint8Array>;
    for await (const chunk of data) chunks.push(chunk);
    return `${Buffer.concat(chunks)} ${(await object.error) ?? 'whole'}`;
  });
}

const listObjects = onObjects(async (objects) =>
  (await objects.list()).map(({ name, size }) => `${name} ${size}`).join(', '),
);

/** A text with more characters than one chunk of an object. */
const LONG = 'x'.repeat(200_000);

const WRONG = 'JetStreamApiError 400';
const WRONG_LAST = `${WRONG} 10071: wrong last sequence:`;
const NO_STREAM = 'StreamNotFoundError 404 10059: stream not found';
const CREATED = 'contract limits file direct';
const [OTHER_ID, OTHER_STREAM] = [{ lastSequence: 1, lastMsgID: 'z' }, { streamName: 'other' }];

const STREAM_STEPS: readonly Step[] = [
  ['info of no stream', describe, NO_STREAM],
  ['publish without a stream', publish('a'), 'JetStreamNotEnabled: jetstream is not enabled'],
  ['delete no stream', deleteStream, NO_STREAM],
  ['create', createStream, CREATED],
  ['create again', createStream, CREATED],
  ['info of an empty stream', describe, '0 messages, 0 to 0'],
  ['read from an empty stream', read(1), 'none'],
  ['publish', publish('a', { lastSequence: 0 }), '1'],
  ['publish again', publish('a', { lastSequence: 0 }), '1 duplicate'],
  ['publish too early', publish('c', { lastSequence: 2 }), `${WRONG_LAST} 1`],
  ['publish too late', publish('b', { lastSequence: 0 }), `${WRONG_LAST} 1`],
  ['publish after another id', publish('b', OTHER_ID), `${WRONG} 10070: wrong last msg ID: a`],
  [
    'publish elsewhere',
    publish('b', OTHER_STREAM),
    `${WRONG} 10060: expected stream does not match`,
  ],
  ['publish after the id', publish('b', { lastSequence: 1, lastMsgID: 'a' }), '2'],
  ["publish after the subject's last", publish('c', { lastSubjectSequence: 2 }), '3'],
  [
    "publish not after the subject's last",
    publish('d', { lastSubjectSequence: 2 }),
    `${WRONG_LAST} 3`,
  ],
  [
    'publish several at once',
    (link) =>
      Promise.all(['d', 'e', 'f'].map((id, at) => publish(id, { lastSequence: 3 + at })(link))),
    '4,5,6',
  ],
  ['info', describe, '6 messages, 1 to 6'],
  ['read', read(2), '2 line b b'],
  ['read directly', readDirectly(2), `2 line b ${SUBJECT}`],
  ['read beyond the end', read(7), 'none'],
  ['read beyond the end directly', readDirectly(7), 'none'],
];

const FETCHED = '6 pending: 1 line a (5) 2 line b (4) 3 line c (3) deleted true';

const CONSUMER_STEPS: readonly Step[] = [
  ['fetch from the start', fetch(1, 3), FETCHED],
  ['fetch until it expires', fetch(5, 3), '2 pending: 5 line e (1) 6 line f (0) deleted true'],
  ['fetch beyond the end', fetch(8, 1), '0 pending: deleted true'],
  ['purge', purge(4), '3'],
  ['info after a purge', describe, '3 messages, 4 to 6'],
  ['read what was purged', read(3), 'none'],
  ['read what was purged directly', readDirectly(3), 'none'],
  ['fetch from before the first', fetch(2, 1), '3 pending: 4 line d (2) deleted true'],
  ['publish a purged id', publish('a'), '1 duplicate'],
  ['purge all', purge(7), '3'],
  ['info after purging all', describe, '0 messages, 7 to 6'],
  ['publish after purging all', publish('g', { lastSubjectSequence: 0 }), '7'],
  ['publish another', publish('h', { lastSequence: 7 }), '8'],
  [
    'a consumer beyond the end starts with the next message',
    async (link) => {
      const fetching = fetch(20, 1)(link);
      await sleep(PUBLISH_MS);
      return [await publish('i')(link), await fetching];
    },
    '9,0 pending: 9 line i (0) deleted true',
  ],
  ['delete the last', deleteLast, 'true'],
  ['info after deleting the last', describe, '2 messages, 7 to 9'],
  ['read what was deleted', read(9), 'none'],
  ['delete it again', deleteLast, `${WRONG} 10043: sequence 9 not found`],
  ['delete', deleteStream, 'true'],
  ['info after deleting', describe, NO_STREAM],
  ['create after deleting', createStream, CREATED],
  ['move an empty stream ahead', purge(10), '0'],
  ['info after moving ahead', describe, '0 messages, 10 to 9'],
  ['publish after moving ahead', publish('a', { lastSubjectSequence: 0 }), '10'],
];

const BUCKET_STEPS: readonly Step[] = [
  ['get no key', getKey, 'none'],
  ['list no keys', listKeys(), ''],
  ['create a key', onBucket((kv) => kv.create('k', 'one')), '1'],
  ['create it again', onBucket((kv) => kv.create('k', 'two')), `${WRONG_LAST} 1`],
  ['get the key', getKey, 'PUT one 1'],
  ['update it', onBucket((kv) => kv.update('k', 'two', 1)), '2'],
  ['update an old revision', onBucket((kv) => kv.update('k', 'three', 1)), `${WRONG_LAST} 2`],
  ['put one', onBucket((kv) => kv.put('used.a', '1')), '3'],
  ['put another', onBucket((kv) => kv.put('used.b', '2')), '4'],
  ['list keys', listKeys(), 'k PUT two 2, used.a PUT 1 3, used.b PUT 2 4'],
  ['list some keys', listKeys('used.*'), 'used.a PUT 1 3, used.b PUT 2 4'],
  [
    'delete an old revision',
    onBucket((kv) => kv.delete('k', { previousSeq: 1 })),
    `${WRONG_LAST} 2`,
  ],
  ['delete a key', onBucket((kv) => kv.delete('k', { previousSeq: 2 })), 'undefined'],
  ['get a deleted key', getKey, 'DEL  5'],
  ['list with a deleted key', listKeys('k'), 'k DEL  5'],
  ['create a deleted key', onBucket((kv) => kv.create('k', 'again')), '6'],
];

const OBJECT_STEPS: readonly Step[] = [
  ['list no objects', listObjects, ''],
  ['get no object', getObject('o'), 'none'],
  ['put an object', putObject('o', 'bytes'), '5 bytes, revision 2'],
  ['get an object', getObject('o'), 'bytes whole'],
  ['put an object that is there', putObject('o', 'other'), `${WRONG_LAST} 2`],
  ['put an object of two chunks', putObject('p', LONG), '200000 bytes, revision 6'],
  ['get an object of two chunks', getObject('p'), `${LONG} whole`],
  ['list objects', listObjects, 'o 5, p 200000'],
  ['delete an object', onObjects(async (objects) => (await objects.delete('o')).purged), '1'],
  ['list what is left', listObjects, 'p 200000'],
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

/** One line for each step, with the outcome that a server should give. */
export const CONTRACT: readonly string[] = STEPS.map(([what, , outcome]) => `${what}: ${outcome}`);

/** Runs the steps. Returns one line for each step, with the outcome that this server gives. */
export async function runContract(link: NatsLink): Promise<string[]> {
  const lines: string[] = [];
  for (const [what, run] of STEPS) {
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
