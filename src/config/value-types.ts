/** The types of settings: how each is parsed and described. */

import { BUDGET_EXPECTED, type Budget, parseBudget } from './budget.ts';
import {
  describeAddressFault,
  NATS_ADDRESS_EXPECTED,
  type NatsAddress,
  parseNatsAddress,
} from './nats-address.ts';

export interface ValueType<T = unknown> {
  /** Shown for the value in the help: DIR, N, MS. Empty for a switch. */
  readonly placeholder: string;
  /** Follows "expected" in error messages. */
  readonly expected: string;
  /** True if the flag alone means "true". */
  readonly isSwitch?: boolean;
  /** Undefined if the text is not a value of this type. */
  parse(text: string): T | undefined;
  /** Present if a value may hold a password: errors then show this instead of the value. */
  describeFault?(text: string): string;
}

interface Range {
  readonly from: number;
  readonly to?: number;
}

function wholeNumberType(placeholder: string, { from, to }: Range): ValueType<number> {
  return {
    placeholder,
    expected:
      to === undefined ? `a whole number, ${from} or more` : `a whole number from ${from} to ${to}`,
    parse(text) {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return value >= from && value <= (to ?? Number.MAX_SAFE_INTEGER) ? value : undefined;
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
    expected: 'a text that is not empty',
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
};

/** The location of a ledger, as the settings `data` and `ledger`. */
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
};

export const budgetType: ValueType<Budget> = {
  placeholder: 'WEIGHT/PERIOD',
  expected: BUDGET_EXPECTED,
  parse: parseBudget,
};

/** Milliseconds since 1970, always in the future: "2027-01-31T00:00:00Z", or "30d" from now. */
export const expiry: ValueType<number> = {
  placeholder: 'WHEN',
  expected: 'a future time such as 2027-01-31T00:00:00Z, or 30d, 12h, 45min',
  parse(value) {
    const nowMs = Date.now();
    const span = /^(\d{1,6})(min|h|d)$/.exec(value);
    const timeMs = span ? nowMs + Number(span[1]) * UNITS_MS[span[2]] : parseTime(value);
    return timeMs > nowMs ? timeMs : undefined;
  },
};

const UNITS_MS: Readonly<Record<string, number>> = { min: 60_000, h: 3_600_000, d: 86_400_000 };

/** NaN if the text is not a time, or has a day that does not exist, such as 2027-02-30. */
function parseTime(value: string): number {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z)?$/.test(value);
  const time = isTime ? Date.parse(value) : Number.NaN;
  const isRealDate = new Date(time).toJSON()?.startsWith(value.slice(0, 10));
  return isRealDate ? time : Number.NaN;
}
