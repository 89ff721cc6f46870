/**
 * Checks the limits that people set for an account. An alarm is raised as soon as a figure is
 * beyond its limit. An alarm is cleared with hysteresis, so a figure that hovers around its limit
 * raises only one alarm.
 */

import type { BoardFigures } from './board-figures.ts';
import {
  compare,
  type Decimal,
  formatFixed,
  multiply,
  parseDecimal,
  roundAsJudged,
} from './decimal.ts';
import { formatDuration, group, groupRounded } from './text.ts';

export const THRESHOLD_NAMES = ['distance', 'marginRatio', 'value', 'age'] as const;
export type ThresholdName = (typeof THRESHOLD_NAMES)[number];

/**
 * The limits that are set, as decimal text: two in per cent, then one in USDC and one in seconds.
 */
export type Thresholds = Readonly<Partial<Record<ThresholdName, string>>>;

export interface Measured {
  /** The figures of the account; undefined while they are unknown. */
  readonly figures: BoardFigures | undefined;
  /** The age of the data. */
  readonly ageMs: number;
}

export interface Alarm {
  readonly name: ThresholdName;
  /**
   * False if the alarm remains only because the figure is unknown, or is not yet back by the margin
   * of the hysteresis.
   */
  readonly isBeyond: boolean;
  /** The text without the figure, which changes: "value below 1,000". */
  readonly mark: string;
  /** The text with the figure: "value 999.99, below your 1,000". */
  readonly words: string;
}

/** An alarm ends when its figure has come back across the limit multiplied by this factor. */
const BACK_WHEN_FALLING: Decimal = { units: 98n, scale: 2 };
const BACK_WHEN_RISING: Decimal = { units: 102n, scale: 2 };

/**
 * `endless` is beyond every limit; `none` means that there is nothing to limit; `unknown` means
 * that there is no answer.
 */
type Figure = Decimal | 'endless' | 'none' | 'unknown';

/** Formats a figure with two decimals. */
type Write = (figure: Decimal) => string;

interface Rule {
  /** True if figures at or above the limit raise the alarm; false if figures below the limit raise it. */
  readonly isUpper: boolean;
  figureOf(measured: Measured): Figure;
  /** The name of the figure that the limit is about. */
  readonly subject: string;
  readonly unit: string;
  /**
   * Describes the alarm with the figure as text. Rounding never moves that text to the other side of the
   * limit.
   */
  describe(measured: Measured, write: Write): string;
}

const percentOf = (ratio: Decimal): Decimal => ({ units: ratio.units * 100n, scale: ratio.scale });

const RULES: Readonly<Record<ThresholdName, Rule>> = {
  distance: {
    isUpper: false,
    subject: 'distance to liquidation',
    unit: ' %',
    figureOf: ({ figures }) => {
      if (figures === undefined) return 'unknown';
      return figures.nearest === undefined ? 'none' : percentOf(figures.nearest.share);
    },
    describe: ({ figures }, write) => {
      const { nearest } = figures ?? {};
      if (nearest === undefined) return 'distance to liquidation unknown';
      return `${nearest.coin} ${write(percentOf(nearest.share))} % to liquidation`;
    },
  },
  marginRatio: {
    isUpper: true,
    subject: 'cross margin used',
    unit: ' %',
    figureOf: ({ figures }) => {
      if (figures === undefined) return 'unknown';
      return figures.marginRatio === undefined ? 'endless' : percentOf(figures.marginRatio);
    },
    describe: ({ figures }, write) => {
      if (figures === undefined) return 'cross margin unknown';
      if (figures.marginRatio === undefined) return 'no cross margin left';
      return `${write(percentOf(figures.marginRatio))} % of the cross margin used`;
    },
  },
  value: {
    isUpper: false,
    subject: 'value',
    unit: '',
    figureOf: ({ figures }) => (figures === undefined ? 'unknown' : parseDecimal(figures.value)),
    describe: ({ figures }, write) =>
      figures === undefined ? 'value unknown' : `value ${write(parseDecimal(figures.value))}`,
  },
  age: {
    isUpper: true,
    subject: 'age of the data',
    unit: ' s',
    figureOf: ({ ageMs }) => ({ units: BigInt(Math.max(0, Math.floor(ageMs))), scale: 3 }),
    describe: ({ ageMs }) => `data is ${formatDuration(ageMs)} old`,
  },
};

/** Returns true if the figure is at or above an upper limit, or below a lower limit. */
function isBeyond(figure: Decimal, limit: Decimal, isUpper: boolean): boolean {
  const order = compare(figure, limit);
  return isUpper ? order >= 0 : order < 0;
}

/** Returns the alarms of an account. `raised` names the alarms that were raised before. */
export function judgeThresholds(
  thresholds: Thresholds,
  measured: Measured,
  raised: readonly ThresholdName[],
): Alarm[] {
  return THRESHOLD_NAMES.flatMap((name) => {
    const limit = thresholds[name];
    if (limit === undefined) return [];
    return judgeThreshold(name, { limit, measured, wasRaised: raised.includes(name) });
  });
}

interface Case {
  readonly limit: string;
  readonly measured: Measured;
  readonly wasRaised: boolean;
}

function judgeThreshold(name: ThresholdName, { limit, measured, wasRaised }: Case): Alarm[] {
  const { isUpper, figureOf } = RULES[name];
  const figure = figureOf(measured);
  if (figure === 'none') return [];
  const bound = parseDecimal(limit);
  const isNow = figure === 'endless' || (figure !== 'unknown' && isBeyond(figure, bound, isUpper));
  const back = multiply(bound, isUpper ? BACK_WHEN_FALLING : BACK_WHEN_RISING);
  const isHeld = typeof figure === 'string' || isBeyond(figure, back, isUpper);
  if (!isNow && !(wasRaised && isHeld)) return [];
  return [{ name, isBeyond: isNow, ...describeAlarm(name, { limit, measured, isNow }) }];
}

interface Said {
  readonly limit: string;
  readonly measured: Measured;
  readonly isNow: boolean;
}

function describeAlarm(name: ThresholdName, { limit, measured, isNow }: Said) {
  const { isUpper, subject, unit, describe } = RULES[name];
  const how = `${isNow ? '' : 'was '}${isUpper ? 'over' : 'below'}`;
  const bound = `${group(limit)}${unit}`;
  const isOver = (figure: Decimal) => isBeyond(figure, parseDecimal(limit), isUpper);
  const write = (figure: Decimal) => groupRounded(formatFixed(roundAsJudged(figure, 2, isOver)), 2);
  return {
    mark: `${subject} ${how} ${bound}`,
    words: `${describe(measured, write)}, ${how} your ${bound}`,
  };
}

const DIGITS = /^\d{1,15}(\.\d{1,6})?$/;

/**
 * Returns the limit that was typed; returns an empty text if the field is empty, and undefined if
 * the text is not a limit.
 */
export function readThreshold(typed: string): string | undefined {
  const text = typed.replace(/[\s,$%]/g, '');
  if (text === '') return '';
  return DIGITS.test(text) && /[1-9]/.test(text) ? text : undefined;
}
