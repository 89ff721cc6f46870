/** The types of settings: how the text of a setting is parsed and described. */

import { ADDRESS_EXPECTED, type Address, expectedAddress, parseAddress } from '../exact/address.ts';
import { BUDGET_EXPECTED, type Budget, parseBudget } from './budget.ts';
import { isLabel, LABEL_EXPECTED } from './key-label.ts';
import {
  describeAddressFault,
  NATS_ADDRESS_EXPECTED,
  type NatsAddress,
  parseNatsAddress,
} from './nats-address.ts';

export interface ValueType<T = unknown> {
  /** The name of the value in the help text, such as DIR, N or MS. Empty for a switch. */
  readonly placeholder: string;
  /** The text after "expected" in error messages. */
  readonly expected: string;
  /** Returns a more precise text after "expected" for this value. */
  expectedFor?(text: string): string;
  /** True if the flag alone means "true". */
  readonly isSwitch?: boolean;
  /** Parses a text; returns undefined if the text is not a value of this type. */
  parse(text: string): T | undefined;
  /** Present if a value may contain a password. Errors then show this description instead of the value. */
  describeFault?(text: string): string;
  /** True if this value contains a secret, such as a password or a key. */
  holdsSecret?(value: T): boolean;
}

/** The minimum budget is enough for markets, mark prices and a few accounts. */
const UPSTREAM_BUDGET_MIN = 200;
const UPSTREAM_BUDGET_MAX = 9_999_999_999;

interface Range {
  readonly from: number;
  readonly to?: number;
}

function wholeNumberType(
  placeholder: string,
  { from, to = Number.MAX_SAFE_INTEGER }: Range,
): ValueType<number> {
  return {
    placeholder,
    expected: `a whole number from ${from} to ${to}`,
    parse(text) {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return value >= from && value <= to ? value : undefined;
    },
  };
}

export const count = (range: Range) => wholeNumberType('N', range);
export const height = (range: Range) => wholeNumberType('HEIGHT', range);
export const bytes = (range: Range) => wholeNumberType('BYTES', range);
export const milliseconds = (range: Range) => wholeNumberType('MS', range);
export const port = wholeNumberType('PORT', { from: 0, to: 65_535 });

export function text(placeholder: string): ValueType<string> {
  return {
    placeholder,
    expected: 'a non-empty text',
    parse: (value) => (value === '' ? undefined : value),
  };
}

export function shortText(lengthMax: number): ValueType<string> {
  return {
    placeholder: 'TEXT',
    expected: `up to ${lengthMax} characters`,
    parse: (value) => (value.length <= lengthMax ? value : undefined),
  };
}

export const labelType: ValueType<string> = {
  placeholder: 'TEXT',
  expected: LABEL_EXPECTED,
  parse: (value) => (isLabel(value) ? value : undefined),
};

export function oneOf<T extends string>(placeholder: string, ...choices: T[]): ValueType<T> {
  return {
    placeholder,
    expected: `one of ${choices.join(', ')}`,
    parse: (value) => choices.find((choice) => choice === value),
  };
}

export const switchType: ValueType<boolean> = {
  placeholder: '',
  isSwitch: true,
  expected: 'true or false',
  parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
};

export const replicationFactor: ValueType<number> = {
  placeholder: 'N',
  expected: '1 or 3',
  parse: (value) => (/^[13]$/.test(value) ? Number(value) : undefined),
};

export const standardInput: ValueType<'-'> = {
  placeholder: '-',
  expected: '-, standard input',
  parse: (value) => (value === '-' ? value : undefined),
};

export const natsAddress: ValueType<NatsAddress> = {
  placeholder: 'URL',
  expected: NATS_ADDRESS_EXPECTED,
  parse: parseNatsAddress,
  describeFault: describeAddressFault,
  holdsSecret: hasLogin,
};

/**
 * True if the address has a user or a password. A user without a password may be a token, which is
 * also a secret.
 */
function hasLogin({ credentials }: NatsAddress): boolean {
  return Object.keys(credentials).length > 0;
}

const NOT_HTTP = 'neither https:// nor http://';

function parseHttp(value: string): URL | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : undefined;
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== '';
}

/** The base address of a server with the same interface. Its path may contain a key. */
export const upstreamUrl: ValueType<URL> = {
  placeholder: 'URL',
  expected: 'an address such as https://host or https://host/KEY',
  parse(value) {
    const url = parseHttp(value);
    return url?.hash === '' && !hasCredentials(url) ? url : undefined;
  },
  describeFault(value) {
    if (!URL.canParse(value)) return 'not an address';
    const url = new URL(value);
    if (hasCredentials(url)) return 'with a user or password: send them by --upstream-header';
    return url.hash === '' ? NOT_HTTP : 'with a fragment';
  },
  holdsSecret: ({ pathname, search }) => !/^\/+(info\/*)?$/.test(pathname) || search !== '',
};

/** The placeholder for the address in the link to an explorer. */
const ADDRESS_MARK = '{address}';

/**
 * The link to an explorer's page about an address. Every user who can open the dashboard sees this
 * link.
 */
export const explorerUrl: ValueType<string> = {
  placeholder: 'URL',
  expected: `an address such as https://host/address/${ADDRESS_MARK}`,
  parse(value) {
    const url = parseHttp(value);
    if (url === undefined || hasCredentials(url)) return undefined;
    return isAfterHost(ADDRESS_MARK, value, url) ? value : undefined;
  },
  describeFault(value) {
    if (!URL.canParse(value)) return 'not an address';
    const url = new URL(value);
    if (hasCredentials(url)) return 'with a user or password';
    return parseHttp(value) === undefined ? NOT_HTTP : `without ${ADDRESS_MARK} in its path`;
  },
};

function isAfterHost(mark: string, value: string, { host }: URL): boolean {
  return value.includes(mark) && !host.includes(mark);
}

/** The maximum weight per minute; Infinity for no limit. */
export const upstreamBudget: ValueType<number> = {
  placeholder: 'WEIGHT',
  expected: `a weight a minute from ${UPSTREAM_BUDGET_MIN} to ${UPSTREAM_BUDGET_MAX}, or 0 for no limit`,
  parse(value) {
    const match = /^(\d{1,10})(?:\/min)?$/.exec(value);
    const weight = match === null ? Number.NaN : Number(match[1]);
    if (weight === 0) return Number.POSITIVE_INFINITY;
    return weight >= UPSTREAM_BUDGET_MIN ? weight : undefined;
  },
};

const WEIGHT_MAX = 10_000;
const WEIGHTS_EXPECTED = `weights from 0 to ${WEIGHT_MAX}, such as clearinghouseState=2,default=20`;

/** Weights by the name of a question, or "default". */
export const upstreamWeights: ValueType<ReadonlyMap<string, number>> = {
  placeholder: 'WEIGHTS',
  expected: WEIGHTS_EXPECTED,
  expectedFor(text) {
    const pairs = text.split(',');
    const wrong = pairs.find((pair) => parseWeight(pair) === undefined);
    const why =
      wrong === undefined
        ? 'a question is named twice'
        : `not ${JSON.stringify(wrong.slice(0, 60))}`;
    return `${WEIGHTS_EXPECTED}; ${why}`;
  },
  parse(text) {
    const pairs = text.split(',').flatMap((pair) => {
      const parsed = parseWeight(pair);
      return parsed === undefined ? [] : [parsed];
    });
    const weights = new Map(pairs);
    return weights.size === text.split(',').length ? weights : undefined;
  },
};

function parseWeight(pair: string): [string, number] | undefined {
  const match = /^ *([A-Za-z]\w{0,39}) *= *(\d{1,5}) *$/.exec(pair);
  if (match === null || Number(match[2]) > WEIGHT_MAX) return undefined;
  return [match[1], Number(match[2])];
}

interface Header {
  readonly name: string;
  readonly value: string;
}

/**
 * Headers that describe the connection or the body. If a setting could change these headers, every
 * request would fail.
 */
const OWN_HEADERS =
  /^(connection|content-.*|expect|host|keep-alive|sec-websocket-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** A header of requests. The value of the header is a secret. */
export const headerType: ValueType<Header> = {
  placeholder: 'HEADER',
  expected: 'a header such as X-API-Key:VALUE',
  parse(text) {
    const match = /^([\w!#$%&'*+.^`|~-]{1,100}): *([\x21-\x7e][\x20-\x7e]{0,4000})$/.exec(text);
    if (match === null || OWN_HEADERS.test(match[1])) return undefined;
    return { name: match[1], value: match[2] };
  },
  describeFault(text) {
    const [name, ...value] = text.split(':');
    if (value.length === 0) return 'without a colon';
    return OWN_HEADERS.test(name) ? 'a header that the follower sets itself' : 'not a header';
  },
  holdsSecret: () => true,
};

export const userAddress: ValueType<Address> = {
  placeholder: 'ADDRESS',
  expected: ADDRESS_EXPECTED,
  expectedFor: expectedAddress,
  parse: parseAddress,
};

/** The location of a ledger, in the form of the settings `data` and `ledger`. */
interface LedgerLocation {
  readonly data: string;
  readonly ledger: NatsAddress | undefined;
}

export const ledgerLocation: ValueType<LedgerLocation> = {
  placeholder: 'LEDGER',
  expected: `a folder, or ${NATS_ADDRESS_EXPECTED}`,
  parse(value) {
    if (value === '') return undefined;
    if (!/^\w+:\/\//.test(value)) return { data: value, ledger: undefined };
    const ledger = parseNatsAddress(value);
    return ledger === undefined ? undefined : { data: '', ledger };
  },
  describeFault: (value) => (value === '' ? 'it is empty' : describeAddressFault(value)),
  holdsSecret: ({ ledger }) => ledger !== undefined && hasLogin(ledger),
};

export const budgetType: ValueType<Budget> = {
  placeholder: 'WEIGHT/PERIOD',
  expected: BUDGET_EXPECTED,
  parse: parseBudget,
};

/** A future time in milliseconds since 1970: "2027-01-31T00:00:00Z", or "30d" from now. */
export const expiry: ValueType<number> = {
  placeholder: 'WHEN',
  expected: 'a future time such as 2027-01-31T00:00:00Z, or 30d, 12h, 45min of up to 6 digits',
  parse(value) {
    const nowMs = Date.now();
    const span = /^(\d{1,6})(min|h|d)$/.exec(value);
    const timeMs = span ? nowMs + Number(span[1]) * UNITS_MS[span[2]] : parseTime(value);
    return timeMs > nowMs ? timeMs : undefined;
  },
};

const UNITS_MS: Readonly<Record<string, number>> = { min: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns NaN if the text is not a time, or names a day that does not exist, such as 2027-02-30.
 */
function parseTime(value: string): number {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z)?$/.test(value);
  const time = isTime ? Date.parse(value) : Number.NaN;
  const isRealDate = new Date(time).toJSON()?.startsWith(value.slice(0, 10));
  return isRealDate ? time : Number.NaN;
}

export const timestamp: ValueType<number> = {
  placeholder: 'WHEN',
  expected: 'a time such as 2026-01-31 or 2026-01-31T12:00:00Z, or milliseconds since 1970',
  parse(value) {
    const time = /^\d{1,16}$/.test(value) ? Number(value) : parseTime(value);
    return Number.isSafeInteger(time) ? time : undefined;
  },
};

const SECOND_MS = 1000;

export const duration: ValueType<number> = {
  placeholder: 'TIME',
  expected: 'a time such as 1d, 12h, 15min or 30s, above 0',
  parse(value) {
    const [, count, unit] = /^(\d{1,6})(s|min|h|d)$/.exec(value) ?? [];
    if (count === undefined || Number(count) === 0) return undefined;
    return Number(count) * (unit === 's' ? SECOND_MS : UNITS_MS[unit]);
  },
};
