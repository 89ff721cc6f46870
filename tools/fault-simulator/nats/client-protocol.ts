/**
 * The protocol of NATS, as a server speaks it: reads the commands of clients, and writes the
 * messages to them.
 */

const LINE_END = Buffer.from('\r\n');

/** The content of a message. Headers are stored as received, from "NATS/1.0" to the empty line. */
export interface Payload {
  readonly headers?: Buffer | undefined;
  readonly data: Buffer;
}

export interface Message extends Payload {
  readonly subject: string;
  readonly reply?: string | undefined;
}

export type Command =
  | { readonly type: 'publish'; readonly message: Message }
  | { readonly type: 'subscribe'; readonly subject: string; readonly id: string }
  | { readonly type: 'unsubscribe'; readonly id: string; readonly after: number }
  | { readonly type: 'ping' };

/** Splits the bytes of a connection into commands. */
export class CommandParser {
  #rest: Buffer = Buffer.alloc(0);

  *parse(bytes: Buffer): Generator<Command> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const end = this.#rest.indexOf(LINE_END);
      if (end < 0) return;
      const [name, ...values] = this.#rest.toString('latin1', 0, end).split(' ');
      const payloadBytes = /^H?PUB$/.test(name) ? Number(values.at(-1)) + LINE_END.length : 0;
      const start = end + LINE_END.length;
      if (this.#rest.length < start + payloadBytes) return;
      const payload = Buffer.from(this.#rest.subarray(start, start + payloadBytes));
      this.#rest = this.#rest.subarray(start + payloadBytes);
      const command = readCommand(name, values, payload.subarray(0, -LINE_END.length));
      if (command !== undefined) yield command;
    }
  }
}

function readCommand(name: string, values: string[], payload: Buffer): Command | undefined {
  const [subject] = values;
  if (name === 'PING') return { type: 'ping' };
  if (name === 'SUB') return { type: 'subscribe', subject, id: values.at(-1) ?? '' };
  if (name === 'UNSUB')
    return { type: 'unsubscribe', id: values[0], after: Number(values[1] ?? 0) };
  if (name === 'PUB') {
    const reply = values.length === 3 ? values[1] : undefined;
    return { type: 'publish', message: { subject, reply, data: payload } };
  }
  if (name === 'HPUB') {
    const reply = values.length === 4 ? values[1] : undefined;
    const headerBytes = Number(values.at(-2));
    const headers = payload.subarray(0, headerBytes);
    const data = payload.subarray(headerBytes);
    return { type: 'publish', message: { subject, reply, headers, data } };
  }
  return undefined; // CONNECT and PONG need no action.
}

export function formatDelivery(id: string, message: Message): Buffer {
  const { subject, reply, headers, data } = message;
  const address = [subject, id, ...(reply === undefined ? [] : [reply])];
  const line =
    headers === undefined
      ? ['MSG', ...address, data.length]
      : ['HMSG', ...address, headers.length, headers.length + data.length];
  const parts = [Buffer.from(line.join(' ')), LINE_END, headers ?? Buffer.alloc(0), data, LINE_END];
  return Buffer.concat(parts);
}

/** Formats headers with a status, such as 404, and other values. */
export function formatHeaders(
  status: string,
  values: Readonly<Record<string, string | number>> = {},
): Buffer {
  const lines = Object.entries(values).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`NATS/1.0${status === '' ? '' : ` ${status}`}\r\n${lines.join('')}\r\n`);
}

/** Returns the headers of a message with other values in front of them. */
export function addHeaders(
  headers: Buffer | undefined,
  values: Readonly<Record<string, string | number>>,
): Buffer {
  const added = formatHeaders('', values);
  if (headers === undefined) return added;
  const rest = headers.subarray(headers.indexOf(LINE_END) + LINE_END.length);
  return Buffer.concat([added.subarray(0, -LINE_END.length), rest]);
}

export function readHeaders(headers: Buffer | undefined): ReadonlyMap<string, string> {
  const [, ...lines] = headers?.toString('latin1').trimEnd().split('\r\n') ?? [];
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
}
