/** Creates wrong answers from right answers, each wrong in one way. */

import { formatUnits, parseBigUnits } from '../../src/exact/decimal.ts';
import type { Random } from '../../src/simulator/random.ts';

import { printDouble } from './printed-doubles.ts';

type Json = ReturnType<typeof JSON.parse>;
type Change = (answer: Json) => unknown;

const USD_DECIMALS = 6;

function addTo(holder: Json, figure: string, amount: bigint): void {
  const exact = Number(holder[figure]).toFixed(USD_DECIMALS);
  const changed = parseBigUnits(exact, USD_DECIMALS) + amount;
  holder[figure] = printDouble(formatUnits(changed, USD_DECIMALS));
}

function inFirstPosition(change: (position: Json) => void): Change {
  return (answer) => {
    const [first] = answer.assetPositions;
    if (first === undefined) addTo(answer.marginSummary, 'accountValue', 1n);
    else change(first.position);
  };
}

/**
 * Changes that make an answer contradict itself. They leave the last figures of an account
 * unchanged: no other figure depends on cumFunding, and a smaller withdrawable only means a resting
 * order.
 */
const CONTRADICTIONS: readonly Change[] = [
  (answer) => addTo(answer.marginSummary, 'accountValue', 1n),
  (answer) => addTo(answer.marginSummary, 'totalNtlPos', 1_000_000n),
  (answer) => addTo(answer.crossMarginSummary, 'accountValue', -1n),
  (answer) => addTo(answer.crossMarginSummary, 'totalRawUsd', 1n),
  (answer) => addTo(answer.crossMarginSummary, 'totalMarginUsed', 1n),
  (answer) => addTo(answer, 'crossMaintenanceMarginUsed', 1n),
  (answer) => addTo(answer, 'withdrawable', 1_000_000_000_000_000n),
  inFirstPosition((position) => addTo(position, 'positionValue', 1_000_000n)),
  inFirstPosition((position) => addTo(position, 'marginUsed', 1n)),
  inFirstPosition((position) => addTo(position, 'unrealizedPnl', 1_000_000_000n)),
  inFirstPosition((position) => {
    position.szi = position.szi.startsWith('-') ? position.szi.slice(1) : `-${position.szi}`;
  }),
  // A whole number could be the number of a separate margin table, which no price shows.
  inFirstPosition((position) => {
    position.maxLeverage += 0.5;
  }),
];

/** Changes to a form that no answer has. */
const NO_ANSWERS: readonly Change[] = [
  () => 12.5,
  () => ({ unexpected: 'form' }),
  (answer) => ({ data: answer }),
  (answer) => [[answer]],
];

/** Changes of one field to another type, for an object or an array that is not empty. */
const WRONG_FIELDS: readonly Change[] = [
  (answer) => replaceFirst(answer, 12.5),
  (answer) => replaceFirst(answer, '1e3'),
  (answer) => replaceFirst(answer, {}),
];

/** Returns the answer with another value in its first field or item, at any depth. */
function replaceFirst(answer: Json, value: unknown): Json {
  if (typeof answer !== 'object' || answer === null) return value;
  const [first] = Object.keys(answer);
  if (first === undefined) return { unexpected: value };
  const copy = Array.isArray(answer) ? [...answer] : { ...answer };
  copy[first] = replaceFirst(answer[first], value);
  return copy;
}

export function contradict(random: Random, answer: Json): Json {
  const copy = structuredClone(answer);
  random.pick(CONTRADICTIONS)(copy);
  return copy;
}

export function misshape(random: Random, answer: Json): Json {
  const isFilled = typeof answer === 'object' && Object.keys(answer ?? {}).length > 0;
  return random.pick(isFilled ? [...NO_ANSWERS, ...WRONG_FIELDS] : NO_ANSWERS)(answer);
}
