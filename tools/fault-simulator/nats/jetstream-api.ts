/** The requests of JetStream's API: what each request reads, and which operation it asks for. */

import type { ConsumerConfig } from '@nats-io/jetstream';
import { CONSUMER_NOT_FOUND, NO_MESSAGE_FOUND, STREAM_NOT_FOUND } from './api-errors.ts';
import { addHeaders, formatHeaders, type Message, type Payload } from './client-protocol.ts';
import type { StoredMessage, StreamState } from './stream-state.ts';
import type { Operation, Streams } from './streams.ts';

const NONE = Buffer.alloc(0);
const NAME_CHARACTERS = 8;

/** The path of a request is its subject after `$JS.API.`, such as STREAM INFO name. */
type Path = readonly string[];

interface RequestBody extends MessageQuery {
  /** The configuration of a consumer. */
  readonly config?: Partial<ConsumerConfig>;
}

function readBody({ data }: Message): RequestBody {
  return data.length === 0 ? {} : JSON.parse(data.toString());
}

/** Returns the operation that a request asks for; returns undefined if the request only reads. */
export function planWrite(
  path: Path,
  message: Message,
  { timeMs, server, reply }: { timeMs: number; server: number; reply: string },
): Operation | undefined {
  const [group, verb, stream, name] = path;
  const body = readBody(message);
  if (group === 'STREAM') {
    if (verb === 'CREATE') return { type: 'create stream', config: body as never, timeMs };
    if (verb === 'DELETE') return { type: 'delete stream', stream };
    if (verb === 'MSG' && stream === 'DELETE') {
      return { type: 'delete message', stream: name, seq: body.seq ?? 0 };
    }
    if (verb === 'PURGE') return { type: 'purge', stream, request: body };
  }
  if (group === 'CONSUMER') {
    if (verb === 'DELETE') return { type: 'delete consumer', stream, name };
    if (verb === 'CREATE') {
      const chosen = name ?? reply.slice(-NAME_CHARACTERS).replaceAll('.', '-');
      const place = { stream, name: chosen, config: { ...body.config, name: chosen }, server };
      return { type: 'create consumer', place: { ...place, createdMs: timeMs } as never, reply };
    }
  }
  return undefined;
}

/** Returns the leader's answer to a request that only reads. */
export function answerRead(
  streams: Streams,
  [group, verb, ...names]: Path,
  message: Message,
  cluster: object | undefined,
): object {
  const isGet = verb === 'MSG';
  const stream = streams.find(isGet ? names[1] : names[0]);
  if (stream === undefined) return STREAM_NOT_FOUND;
  if (group === 'STREAM' && verb === 'INFO') return describeStream(stream, cluster);
  if (group === 'STREAM' && isGet) {
    const found = findMessage(stream, readBody(message));
    return found === undefined ? NO_MESSAGE_FOUND : { message: formatStored(found) };
  }
  return CONSUMER_NOT_FOUND;
}

function describeStream(stream: StreamState, cluster: object | undefined): object {
  const created = new Date(stream.createdMs).toISOString();
  const { config } = stream;
  return { config, created, state: stream.describe(), ...(cluster && { cluster }) };
}

interface MessageQuery {
  readonly seq?: number;
  readonly last_by_subj?: string;
}

function findMessage(stream: StreamState, query: MessageQuery): StoredMessage | undefined {
  const { seq, last_by_subj: subject } = query;
  return subject === undefined ? stream.get(seq ?? 0) : stream.lastOf(subject);
}

function formatStored({ subject, seq, headers, data, timeMs }: StoredMessage): object {
  const time = new Date(timeMs).toISOString();
  const hdrs = headers?.toString('base64');
  return { subject, seq, time, data: data.toString('base64'), ...(hdrs && { hdrs }) };
}

/**
 * Returns the answer of any server that has the stream; returns undefined if direct answers are not
 * allowed.
 */
export function answerDirectly(
  streams: Streams,
  path: Path,
  message: Message,
): Payload | undefined {
  const [, , name, ...subject] = path;
  const stream = streams.find(name);
  if (stream?.config.allow_direct !== true) return undefined;
  const query = subject.length > 0 ? { last_by_subj: subject.join('.') } : readBody(message);
  const found = findMessage(stream, query);
  if (found === undefined) return { headers: formatHeaders('404 Message Not Found'), data: NONE };
  const headers = addHeaders(found.headers, {
    'Nats-Stream': name,
    'Nats-Subject': found.subject,
    'Nats-Sequence': found.seq,
    'Nats-Time-Stamp': new Date(found.timeMs).toISOString(),
  });
  return { headers, data: found.data };
}
