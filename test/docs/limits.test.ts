/** The tables of docs/reference/limits.md: every limit of the code, with the code's own figures. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_SETTINGS, SETTING_GROUPS } from '../../src/cli/all-settings.ts';
import type { Setting } from '../../src/config/setting.ts';
import { readSources } from '../structure/sources.ts';
import { readDocument } from './documents.ts';

interface Row {
  readonly limit: string;
  readonly setting: string;
}

/** How a figure is written: as a number, in bytes, in time, or a rate per millisecond as one per second. */
type Unit = 'count' | 'bytes' | 'ms' | 'perMs';
/** A setting, or a constant by its file and name. */
type Source = readonly [unit: Unit, name: string];

/** By the first cell of a row: where its figures come from, in their order. */
const ROWS: Readonly<Record<string, readonly Source[]>> = {
  connections: [['count', 'connectionsMax']],
  'connections to the admin port': [['count', 'service/listening/admin.ts CONNECTIONS_MAX']],
  'address and headers, in any number': [['bytes', 'http/limits.ts HEADER_BYTES_MAX']],
  'time to send address and headers': [['ms', 'http/limits.ts HEADER_TIMEOUT_MS']],
  body: [['bytes', 'http/limits.ts BODY_BYTES_MAX']],
  'colons and opening brackets of a body or message, each; commas': [
    ['count', 'http/message/parse-limits.ts MARKS_MAX'],
    ['count', 'http/message/parse-limits.ts COMMAS_MAX'],
  ],
  'slashes of a path': [['count', 'http/message/router.ts SLASHES_MAX']],
  'length of a `Content-Type`': [['count', 'http/message/request-head.ts MEDIA_TYPE_LENGTH_MAX']],
  '`&`, `,`, `%` and `+` of a query, each': [
    ['count', 'http/message/parse-limits.ts QUERY_MARKS_MAX'],
  ],
  'tags of an `If-None-Match` that are compared': [
    ['count', 'http/message/entity-tag.ts TAGS_MAX'],
  ],
  'incomplete requests, and requests that wait behind another request, together': [
    ['bytes', 'http/transport/connections/unfinished-bytes.ts UNFINISHED_BYTES_MAX'],
    ['bytes', 'http/transport/connections/unfinished-bytes.ts UNCOUNTED_BYTES_MAX'],
  ],
  'bytes of a longer body that are read and dropped': [
    ['bytes', 'http/message/request-head.ts DISCARDED_BYTES_MAX'],
  ],
  'time for a whole request': [['ms', 'http/limits.ts REQUEST_TIMEOUT_MS']],
  'time between requests, or with a response unread': [['ms', 'idleTimeout']],
  'pipelined requests answered at once': [
    ['count', 'http/transport/lane/lane-responder.ts SHARE_REQUESTS_MAX'],
    ['bytes', 'http/transport/lane/lane-responder.ts SHARE_BYTES_MAX'],
  ],
  'bytes read at once': [
    ['bytes', 'http/transport/lane/fast-lane.ts TURN_BYTES'],
    ['count', 'http/transport/lane/fast-lane.ts TURN_READS_MAX'],
    ['bytes', 'http/transport/connections/shared-reads.ts READ_BYTES'],
  ],
  'requests without a known key, path or method': [
    ['count', 'http/answering/requesting-client.ts PROBES_MAX'],
  ],
  'queue of requests, by its delay': [['ms', 'overloadDelay']],
  'weight of questions': [['count', 'budget']],
  'refusals that the key does not pay for': [
    ['count', 'http/answering/limits/refusal-rate-limit.ts INTERVAL_REFUSALS_MAX'],
    ['ms', 'http/answering/limits/refusal-rate-limit.ts INTERVAL_MS'],
  ],
  'requests that wait for a height': [
    ['count', 'replica/live-state.ts WAITERS_MAX'],
    ['count', 'http/answering/present-answers.ts KEY_WAITS_MAX'],
  ],
  'time that a request waits for a height': [['ms', 'minHeightWait']],
  'accounts in a question': [
    ['count', 'info/types/batch-clearinghouse-states.ts USERS_MAX'],
    ['count', 'info/types/batch-clearinghouse-states.ts USERS_ON_ALL_DEXES_MAX'],
  ],
  'attempts at an answer about many accounts that blocks interrupt': [
    ['count', 'http/answering/long-answers.ts ATTEMPTS_MAX'],
  ],
  'answers about many accounts that wait': [
    ['count', 'http/answering/long-answers.ts WAITING_MAX'],
    ['count', 'http/answering/long-answers.ts KEY_WAITING_MAX'],
  ],
  'long answers that the client has not read: about many accounts, the past, forwarded questions': [
    ['bytes', 'http/answering/limits/unsent-bytes.ts UNSENT_BYTES_MAX'],
  ],
  'reusable buffers of long answers': [
    ['count', 'http/answering/long-answers.ts SPARE_MAX'],
    ['bytes', 'info/writing/answer-writer.ts BYTES_KEPT_MAX'],
  ],
  'cached answers about accounts': [['bytes', 'http/answering/row-answer-cache.ts RING_BYTES']],
  'answers about the past that are computed in turns': [
    ['count', 'http/answering/past-answers.ts JOBS_MAX'],
    ['count', 'http/answering/past-answers.ts KEY_JOBS_MAX'],
  ],
  'long answers about the past at the same time': [
    ['count', 'http/answering/past-answers.ts LONG_MAX'],
  ],
  'time until a long answer is ready': [['ms', 'http/answering/cancellation.ts ANSWER_MS_MAX']],
  'further requests read while an answer is pending': [
    ['bytes', 'http/transport/connections/client-connection.ts READ_AHEAD_BYTES_MAX'],
  ],
  'blocks that made positions smaller and are checked for liquidations': [
    ['count', 'info/types/liquidation-history.ts BLOCKS_MAX'],
  ],
  'rows of a series': [['count', 'info/archive/time-range.ts POINTS_MAX']],
  'cached times of the archive': [
    ['count', 'archive/reading/archive.ts TIMES_KEPT_MAX'],
    ['count', 'archive/reading/archive.ts SPANS_KEPT_MAX'],
  ],
  'cached refusals of unknown types': [
    ['count', 'info/read-question.ts UNKNOWN_TYPES_MAX'],
    ['count', 'info/read-question.ts UNKNOWN_TYPE_LENGTH_MAX'],
  ],
  'log lines about clients': [['count', 'http/answering/limits/rate-limited-log.ts LINES_MAX']],
  'log lines that cannot be written': [
    ['bytes', 'service/logging/log-destination.ts UNWRITTEN_BYTES_MAX'],
  ],
  'push connections': [['count', 'pushConnectionsMax']],
  'subscriptions for each allowed push connection': [
    ['count', 'http/limits.ts PUSH_SUBSCRIPTIONS_PER_CONNECTION'],
  ],
  message: [['bytes', 'http/limits.ts BODY_BYTES_MAX']],
  'fragments of a message': [['count', 'http/transport/websocket/handshake.ts FRAGMENTS_MAX']],
  'reads for one message': [
    ['count', 'http/transport/websocket/handshake.ts FRAGMENTS_MAX'],
    ['count', 'http/transport/websocket/handshake.ts READ_BYTES_MIN'],
  ],
  'time for a message': [['ms', 'http/limits.ts REQUEST_TIMEOUT_MS']],
  'pings, and pongs without a ping of the server': [
    ['count', 'http/transport/websocket/incoming-frames.ts CONTROL_FRAMES_MAX'],
    ['perMs', 'http/transport/websocket/incoming-frames.ts CONTROL_FRAMES_PER_MS'],
  ],
  'messages that the parser gets before it has handed on the first of them': [
    ['count', 'http/transport/websocket/incoming-frames.ts MESSAGES_AHEAD_MAX'],
  ],
  'messages that were read while the key has to wait for its pace of refusals': [
    ['bytes', 'http/push/held-messages.ts HELD_BYTES_MAX'],
  ],
  'posts whose answer is pending': [['count', 'http/push/connection.ts POSTS_IN_FLIGHT_MAX']],
  'length of a refused frame that its error repeats': [
    ['count', 'http/push/error-frames.ts ECHO_LENGTH_MAX'],
  ],
  'unacknowledged bytes after a ping before answers wait': [
    ['bytes', 'http/transport/websocket/outbox.ts WINDOW_BYTES'],
    ['bytes', 'http/push/connection-subscriptions.ts GATHERED_BYTES_MAX'],
  ],
  'bytes composed for several connections': [['bytes', 'http/push/schedule.ts GATHERED_BYTES_MAX']],
  'unread bytes': [['bytes', 'http/limits.ts PUSH_BACKLOG_BYTES_MAX']],
  'time that bytes are unread': [['ms', 'http/limits.ts PUSH_STALL_TIMEOUT_MS']],
};

const FOLLOWER_ROWS: Readonly<Record<string, readonly Source[]>> = {
  'questions to the exchange in flight': [
    ['count', 'upstream/channel/channel-client.ts IN_FLIGHT_MAX'],
    ['count', 'upstream/channel/channel-client.ts KEY_IN_FLIGHT_MAX'],
  ],
  'requests that wait for the exchange': [
    ['count', 'upstream/channel/channel-client.ts WAITING_MAX'],
    ['count', 'upstream/channel/channel-client.ts KEY_WAITING_MAX'],
  ],
  'time that a request waits for the exchange': [['ms', 'followWait']],
  'accounts noted as asked for in a second': [
    ['count', 'upstream/channel/interest-batch.ts ITEMS_MAX'],
  ],
  'followed accounts': [['count', 'upstream/follower/follow-session.ts WATCHED_MAX']],
  'cached modes of accounts': [['count', 'upstream/follower/accounts/mode-reader.ts USERS_MAX']],
  'time without a request for an account': [
    ['ms', 'upstream/follower/open-follow-feed.ts FORGET_MS'],
  ],
  'accounts that are subscribed to': [['count', 'followUsersMax']],
  'accounts read at the same time because they are due': [
    ['count', 'upstream/follower/follow-session.ts READS_MAX'],
  ],
  "questions of a key in the follower's queue": [
    ['count', 'upstream/client/limits/upstream-budget.ts QUEUE_OF_KEY_MAX'],
  ],
  "questions in the follower's queue": [
    ['count', 'upstream/client/limits/upstream-budget.ts QUEUE_MAX'],
  ],
  'weight asked of the exchange in a minute, and so new accounts in the ledger': [
    ['count', 'followBudget'],
  ],
  'cached answers to forwarded questions': [
    ['count', 'upstream/client/answers/answer-cache.ts ANSWERS_MAX'],
    ['bytes', 'upstream/client/answers/answer-cache.ts BYTES_MAX'],
    ['ms', 'upstream/follower/open-follow-feed.ts SHARED_MS'],
  ],
  'log lines about accounts': [
    ['count', 'upstream/follower/follow-audit.ts LINES_MAX'],
    ['count', 'upstream/follower/follow-audit.ts LOGGED_MAX'],
  ],
  'subscriptions named that the exchange does not take': [
    ['count', 'upstream/follower/push/left-out-report.ts NAMED_MAX'],
  ],
  'fields named in the metrics': [['count', 'upstream/follower/follow-audit.ts FIELDS_MAX']],
};

/** Files that clients make work for; what the others hold comes from the feed or from who runs them. */
const REACHED = /^(?:http|access|upstream|service|info)\/|^replica\/live-state\.ts$/;
const LIMIT_NAME = /(?:_MAX|_BYTES)$/;
/** A time alone lets nothing grow. */
const TIME_NAME = /_MS_MAX$/;

/** Limits in those files that no client reaches, and why. */
const NOT_BY_CLIENTS: Readonly<Record<string, readonly string[]>> = {
  'sizes of what is written and read, whoever asks': [
    'http/transport/lane/long-body.ts PIECE_BYTES',
    'http/transport/websocket/incoming-frames.ts MASK_BYTES',
    'http/transport/websocket/incoming-frames.ts HEADER_BYTES_MAX',
    'http/transport/websocket/frame-writer.ts FLUSH_BYTES',
    'http/transport/websocket/frame-writer.ts HEADER_BYTES_MAX',
    'http/transport/websocket/frame-writer.ts USUAL_HEADER_BYTES',
    'http/transport/websocket/outbox.ts FRAME_OVERHEAD_BYTES',
    'http/transport/websocket/outbox.ts HEADER_BYTES_MAX',
    'http/transport/websocket/outbox.ts SENT_OVERHEAD_BYTES',
    'http/transport/websocket/outbox.ts GATHERED_BYTES_MAX',
    'http/transport/websocket/outbox.ts PING_PAYLOAD_BYTES',
    'http/push/topics.ts POSITION_BYTES_MAX',
    'info/answers/account-series.ts SERIES_ROW_BYTES',
    'info/writing/answer-writer.ts LOOPED_MAX',
    'info/writing/answer-writer.ts WORD_BYTES',
    'info/answers/account-answer.ts ACCOUNT_BYTES_MAX',
    'info/fields/dex-field.ts DEXES_SHOWN_MAX',
    'info/types/batch-clearinghouse-states.ts ACCOUNT_BYTES',
    'info/types/batch-clearinghouse-states.ts ALL_DEXES_BYTES',
    'info/answers/user-accounts.ts NAME_BYTES_MAX',
    'info/types/batch-clearinghouse-states.ts PIECE_BYTES',
    'upstream/client/answers/upstream-answer.ts STEP_BYTES',
  ],
  'shares of work and numbers of attempts': [
    'http/transport/connections/drain.ts ACCEPT_SHARE_MAX',
    'http/answering/long-answers.ts ATTEMPTS_MAX',
    'http/push/connection-subscriptions.ts CHECKED_MAX',
    'http/push/schedule.ts EARLY_SHARE_MAX',
    'access/jetstream/jetstream-keys.ts ATTEMPTS_MAX',
    'upstream/follower/accounts/account-reader.ts FAILURES_MAX',
    'upstream/dialect/own-tiers.ts COMBINATIONS_MAX',
    'upstream/dialect/own-tiers.ts VALUATIONS_MAX',
    'upstream/follower/accounts/account-reader.ts READS_MAX',
    'upstream/follower/accounts/account-reader.ts SPOT_READS_MAX',
    'upstream/follower/accounts/delegations-reader.ts READS_MAX',
    'upstream/follower/heartbeat.ts TRIES_MAX',
    'upstream/follower/push/trade-refusals.ts REFUSALS_MAX',
    'upstream/follower/markets/unlisted-coins.ts READS_MAX',
    'upstream/client/limits/circuit-breaker.ts FAILURES_MAX',
    'upstream/client/push/faulty-subscription-search.ts UNPROVOKED_MAX',
    'upstream/client/upstream.ts ATTEMPTS_MAX',
    'upstream/follower/accounts/watch-list.ts WAITED_FAILURES_MAX',
  ],
  'keys, which whoever runs the service makes': [
    'access/embedded/embedded-keys.ts CHANGE_BYTES',
    'access/embedded/embedded-keys.ts RESERVED_BYTES',
    'access/embedded/embedded-keys.ts FORGOTTEN_MAX',
    'access/jetstream/jetstream-keys.ts FORGOTTEN_MAX',
    'access/key-changes.ts ID_BYTES',
    'access/key-changes.ts REVOKED_COUNT_MAX',
    'access/key-changes.ts SECRETS_MAX',
    'access/key-changes.ts SECRET_BYTES',
  ],
  'between our own processes': [
    'service/logging/repeated-lines.ts LINES_MAX',
    'info/fields/market-fields.ts TIME_MAX',
    'upstream/channel/nats/nats-channel.ts INTERESTS_MAX',
    'upstream/channel/socket/socket-channel.ts INTERESTS_MAX',
    'upstream/channel/socket/socket-channel.ts LINE_BYTES_MAX',
    'upstream/channel/nats/outcome-parts.ts BYTES_MAX',
    'upstream/channel/nats/outcome-parts.ts PART_BYTES_MAX',
    'upstream/channel/socket/socket-channel.ts UNREAD_BYTES_MAX',
    'upstream/channel/socket/socket-messages.ts FOLLOWING_BYTES_MAX',
    'upstream/channel/socket/socket-server.ts LINE_BYTES_MAX',
    'upstream/channel/socket/socket-server.ts UNREAD_BYTES_MAX',
    'upstream/channel/channel-messages.ts KEY_ID_LENGTH_MAX',
  ],
  'fields of questions that are passed on, in docs/reference/upstream.md': [
    'info/fields/unknown-fields.ts DEPTH_MAX',
    'info/fields/unknown-fields.ts FIELDS_MAX',
    'info/fields/unknown-fields.ts LENGTH_MAX',
  ],
  'what a probe looks at and reports': [
    'upstream/probe/answer-form.ts FINDINGS_MAX',
    'upstream/probe/answer-form.ts VALUES_MAX',
    'upstream/probe/distribution.ts SAMPLES_MAX',
    'upstream/probe/open-probe.ts BODY_BYTES_MAX',
    'upstream/probe/open-probe.ts MESSAGES_MAX',
    'upstream/probe/printed-check.ts STRANGE_MAX',
    'upstream/probe/probe-markets.ts DEXES_MAX',
    'upstream/probe/probe-push.ts LINES_MAX',
  ],
  'what the exchange sends, or is sent': [
    'upstream/dialect/dialect.ts DECIMAL_LENGTH_MAX',
    'upstream/dialect/market-answers.ts DEXES_MAX',
    'upstream/dialect/market-answers.ts MARKETS_MAX',
    'upstream/follower/push/follow-subscriptions.ts TRADES_MAX',
    'upstream/follower/blocks/pending-changes.ts PRICES_MAX',
    'upstream/follower/blocks/pending-changes.ts REFUSED_MAX',
    'upstream/follower/accounts/recent-trades.ts ACCOUNTS_MAX',
    'upstream/follower/markets/unlisted-coins.ts COINS_MAX',
    'upstream/follower/open-follow-feed.ts MESSAGES_MAX',
    'upstream/follower/open-follow-feed.ts SUBSCRIPTIONS_MAX',
    'upstream/client/limits/spent-file.ts SLOT_BYTES',
    'upstream/client/limits/spent-file.ts WEIGHT_MAX',
    'upstream/client/upstream-address.ts UPSTREAM_TEXT_LENGTH_MAX',
    'upstream/client/answers/own-refusal.ts BODY_BYTES_MAX',
    'upstream/client/upstream-address.ts READ_LENGTH_MAX',
    'upstream/client/answers/upstream-secrets.ts ESCAPES_MAX',
    'upstream/client/answers/upstream-json.ts JSON_DEPTH_MAX',
    'upstream/client/answers/inflated-json.ts INFLATED_BYTES_MAX',
    'upstream/client/push/push-socket.ts MESSAGE_BYTES_MAX',
    'upstream/client/push/left-out-subscriptions.ts LEFT_OUT_MAX',
    'upstream/client/push/push-error.ts JSON_LENGTH_MAX',
    'upstream/client/limits/connection-pace.ts CLOSED_MAX',
    'upstream/client/limits/connection-pace.ts SEARCHING_MAX',
    'upstream/client/push/upstream-push.ts STRAY_ERRORS_MAX',
  ],
};

/** Settings that bound what clients do, by their names and groups. */
const LIMIT_SETTING = /(?:Max|Timeout|Wait|Delay|Forget|Keep|[bB]udget)$/;
const LIMIT_GROUPS = /^(?:Follow|Freshness|Requests|Push|keys)/;

const SOURCES = readSources();
const [TABLE, FOLLOWER_TABLE] = readTables();

/** The rows of each table of the section, by their first cell. */
function readTables(): Map<string, Row>[] {
  return readDocument('docs/reference/limits.md')
    .split(/^\|---.*\n/m)
    .slice(1)
    .map((part) => {
      const rows = part.slice(0, part.search(/^(?!\|)/m)).matchAll(/^\| (.+) \|$/gm);
      return new Map(
        Array.from(rows, ([, cells]) => {
          const [what, limit, , setting] = cells.split(' | ');
          return [what, { limit, setting }] as const;
        }),
      );
    });
}

function findSetting(name: string): Setting | undefined {
  return ALL_SETTINGS.find((setting) => setting.name === name);
}

/** The default of a setting, or the value of a constant as the code has it; undefined if there is none. */
function readValue(name: string): number | undefined {
  const setting = findSetting(name);
  if (setting !== undefined) return setting.default as number | undefined;
  const [file, constant] = name.split(' ');
  const declared = new RegExp(`^(?:export )?const ${constant} = (.+);$`, 'm');
  const [, text] = declared.exec(SOURCES.get(file) ?? '') ?? [];
  assert.ok(text, `no constant ${name}`);
  const [, left, operator = '*', right = '1'] =
    /^([\d_]+)(?: (<<|\*|\/) ([\d_]+))?$/.exec(text) ?? [];
  assert.ok(left, `${name} = ${text}: a form that this test does not read`);
  const [a, b] = [left, right].map((digits) => Number(digits.replaceAll('_', '')));
  if (operator === '/') return a / b;
  return operator === '<<' ? a * 2 ** b : a * b;
}

const FORMATS: Readonly<Record<Unit, (value: number) => string>> = {
  count: (value) => value.toLocaleString('en'),
  bytes: (value) => (value >= 1 << 20 ? `${value / (1 << 20)} MiB` : `${value / 1024} KiB`),
  ms: (value) => {
    if (value >= 3_600_000) return `${value / 3_600_000} h`;
    return value >= 1000 ? `${value / 1000} s` : `${value} ms`;
  },
  perMs: (value) => `${value * 1000}`,
};

/** The figures of a cell as they are written. */
function figuresOf(cell: string): string[] {
  return Array.from(cell.matchAll(/\d[\d,]*(?: (?:KiB|MiB|Mi|ms|s|h)\b)?/g), ([figure]) =>
    figure.replace(/,$/, ''),
  );
}

/** What is wrong with a table. */
function findFaults(
  table: ReadonlyMap<string, Row>,
  rows: Readonly<Record<string, readonly Source[]>>,
): string[] {
  const faults: string[] = [];
  for (const [what, sources] of Object.entries(rows)) {
    const row = table.get(what);
    if (row === undefined) {
      faults.push(`${what}: no row`);
      continue;
    }
    const figures = sources.flatMap(([unit, name]) => {
      const value = readValue(name);
      return value === undefined ? [] : [FORMATS[unit](value)];
    });
    const settings = sources.flatMap(([, name]) => {
      const setting = findSetting(name);
      return setting === undefined ? [] : [`\`--${setting.flag}\``];
    });
    const written = `${figuresOf(row.limit).join(', ')} by ${row.setting}`;
    const expected = `${figures.join(', ')} by ${settings.join(', ') || 'fixed'}`;
    if (written !== expected) faults.push(`${what}: ${written}, in the code ${expected}`);
  }
  for (const what of table.keys()) if (!(what in rows)) faults.push(`${what}: not in the code`);
  return faults;
}

test('each row has the figures and the setting of the code, and each limit has a row', () => {
  assert.deepEqual(findFaults(TABLE, ROWS), []);
  assert.deepEqual(findFaults(FOLLOWER_TABLE, FOLLOWER_ROWS), []);
});

const listed = [...Object.values(ROWS), ...Object.values(FOLLOWER_ROWS)]
  .flat()
  .map(([, name]) => name);

test('every constant that limits what clients can reach has a row, or a reason to have none', () => {
  const reasons = Object.values(NOT_BY_CLIENTS).flat();
  const names = [...SOURCES]
    .filter(([file]) => REACHED.test(file))
    .flatMap(([file, text]) =>
      Array.from(text.matchAll(/^(?:export )?const ([A-Z_]+)\b/gm), ([, name]) => [file, name]),
    )
    .filter(([, name]) => LIMIT_NAME.test(name) && !TIME_NAME.test(name))
    .map((found) => found.join(' '));
  const missing = names.filter((name) => !listed.includes(name) && !reasons.includes(name));
  assert.deepEqual(missing, [], 'constants without a row in docs/reference/limits.md');
  const gone = reasons.filter((name) => !names.includes(name));
  assert.deepEqual(gone, [], 'constants that are not in the code any more');
});

test('every setting that limits clients has a row', () => {
  const names = SETTING_GROUPS.filter(({ title }) => LIMIT_GROUPS.test(title))
    .flatMap(({ settings }) => settings.map(({ name }) => name))
    .filter((name) => LIMIT_SETTING.test(name));
  assert.deepEqual(
    names.filter((name) => !listed.includes(name)),
    [],
  );
});

test('the check finds what it looks for', () => {
  const table = new Map([
    ['connections', { limit: '2,000', setting: '`--connections-max`' }],
    ['body', { limit: '32 KiB', setting: 'fixed' }],
    ['made up', { limit: '1', setting: 'fixed' }],
  ]);
  const { connections, body, message } = ROWS;
  assert.deepEqual(findFaults(table, { connections, body, message }), [
    'connections: 2,000 by `--connections-max`, in the code 20,000 by `--connections-max`',
    'body: 32 KiB by fixed, in the code 64 KiB by fixed',
    'message: no row',
    'made up: not in the code',
  ]);
});
