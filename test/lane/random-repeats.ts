/** Random requests of one client on one connection: their heads differ in the query or the length only. */

import type { Random } from '../../src/simulator/random.ts';
import { HEIGHT } from '../../tools/harness/service.ts';
import { LIMITS } from './both-lanes.ts';
import { ordinaryBody, type Subjects } from './random-bodies.ts';
import { INSERTED, type Source } from './random-requests.ts';

/** What a client sends with each of its requests. */
interface Client {
  readonly path: string;
  readonly headers: readonly string[];
  readonly method: 'GET' | 'HEAD' | 'POST';
}

const HEADERS: readonly (readonly string[])[] = [
  ['Host: localhost'],
  ['Host: localhost', 'If-None-Match: *'],
  ['host:localhost', 'accept: */*', 'If-None-Match: "abc"', 'user-agent: a?b=c'],
  ['Host: localhost', 'Connection: keep-alive', `Ledger-Min-Height: ${HEIGHT}`],
  ['Host: localhost', 'Ledger-Min-Height: x', 'Accept: text/csv'],
  ['Host: localhost', 'X-Content-Length: 5', 'Accept: application/json'],
];

function randomClient({ random, keys }: Source): Client {
  const key = random.pick([
    keys.free,
    keys.free,
    keys.free,
    keys.budgeted,
    keys.small,
    keys.expired,
  ]);
  return {
    path: random.chance(0.9)
      ? `/${key}/info`
      : random.pick(['/info', `/${key}/`, `//${key}/info/`]),
    headers: random.pick(HEADERS),
    method: random.pick(['GET', 'GET', 'HEAD', 'POST']),
  };
}

function ordinaryQuery(random: Random, { users, dexes }: Subjects): string {
  const user = random.pick(users);
  const asked = `type=clearinghouseState&user=${user}`;
  return random.pick([
    ...[asked, asked, asked, asked, `${asked}&dex=`, asked.replace(user, user.toUpperCase())],
    ...[`${asked}&dex=${random.pick(dexes)}`, `user=${user}&type=clearinghouseState`],
    ...['type=meta', 'type=perpDexs', 'type=exchangeStatus', `type=delegations&user=${user}`],
  ]);
}

type QueryTwist = (query: string, random: Random, subjects: Subjects) => string;

const QUERY_TWISTS: readonly QueryTwist[] = [
  (query, random) => {
    const place = random.below(query.length + 1);
    return query.slice(0, place) + random.pick(INSERTED) + query.slice(place);
  },
  (query, random) => {
    const place = random.below(query.length);
    const encoded = `%${query.charCodeAt(place).toString(16)}`;
    return query.slice(0, place) + encoded + query.slice(place + 1);
  },
  (query, random) => {
    const place = random.below(query.length);
    return query.slice(0, place) + random.pick(INSERTED)[0] + query.slice(place + 1);
  },
  (query, random) => query.slice(0, random.below(query.length)),
  (query, random) => query.slice(1 + random.below(query.length)),
  (query, random, subjects) => `${query}&${ordinaryQuery(random, subjects)}`,
  (query, random, { users }) => `${query}&user=${random.pick(users)}`,
  (query, random) => `${query}&${random.pick(['type=meta', 'dex=', 'a=b', 'type', 'user='])}`,
  (query, random) => query + 'a'.repeat(random.below(2 * LIMITS.headerBytesMax)),
];

function randomTarget(path: string, { random, subjects }: Source): string {
  if (random.chance(0.03)) return path;
  const query = ordinaryQuery(random, subjects);
  if (random.chance(0.6)) return `${path}?${query}`;
  return `${path}?${random.pick(QUERY_TWISTS)(query, random, subjects)}`;
}

function randomLength(random: Random, length: number): string {
  if (random.chance(0.85)) return String(length);
  const inserted = random.pick(INSERTED);
  return random.pick([
    ...[inserted + length, length + inserted, '', '0', '999999999', '9999999999', '000'],
    ...[`${length + 1}`, `${length - 1}`, `${LIMITS.bodyBytesMax + 1}`, `0${length}`],
    ...[`${length}\r\nContent-Length: ${length}`, `${length}\r\nX: y`, `1,${length}`],
  ]);
}

function randomRepeat(client: Client, source: Source): Buffer {
  const { path, headers, method } = client;
  const { random, subjects } = source;
  if (method !== 'POST') {
    const lines = [`${method} ${randomTarget(path, source)} HTTP/1.1`, ...headers, '', ''];
    return Buffer.from(lines.join('\r\n'), 'latin1');
  }
  const body = ordinaryBody(random, subjects);
  const length = `Content-Length: ${randomLength(random, body.length)}`;
  const type = 'Content-Type: application/json';
  const lines = [`${method} ${path} HTTP/1.1`, ...headers, length, type, '', ''];
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body]);
}

/** Requests of one client, rarely with one of another between them. */
export function repeatedRequests(source: Source): Buffer[] {
  const { random } = source;
  const client = randomClient(source);
  return Array.from({ length: 2 + random.below(7) }, () =>
    randomRepeat(random.chance(0.06) ? randomClient(source) : client, source),
  );
}
