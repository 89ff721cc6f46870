/** Answers with one odd value in a random place: what a server might send that is not itself any more. */

import type { Random } from '../../../src/simulator/random.ts';

type Json = ReturnType<typeof JSON.parse>;

/** Texts in place of an amount: none of them is an amount that a double could have been printed as. */
export const ODD_AMOUNTS: readonly string[] = [
  ...['1e3', '1E-7', 'NaN', 'Infinity', '', ' 1.0', '1.0 ', '+1.0', '1,000.0', '0x10', '1.', '.5'],
  ...['--1.0', '1.0.0', '١.٠', '1.0000001', '0.12345678901', '-0.00000000001', '8272576.57293512'],
  ...[`1.${'0'.repeat(80)}1`, '9'.repeat(400), `${'9'.repeat(30)}.5`, '1\u0000', '½'],
];

function nest(depth: number, inner: Json): Json {
  let value = inner;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function drawOdd(random: Random): Json {
  const odd: readonly (() => Json)[] = [
    () => random.pick(ODD_AMOUNTS),
    () => random.pick(ODD_AMOUNTS),
    () => null,
    () => random.pick([0, -1, 1.5, 2 ** 53, 1e300, -0]),
    () => random.pick([true, false]),
    () => ({}),
    () => [],
    () => ({ constructor: 1, toString: null, length: 3 }),
    () => [null, 1, 'x', {}, []],
    () => nest(200, '1.0'),
    () => Array.from({ length: 20_000 }, () => null),
    () => Array.from({ length: 20_000 }, (_, index) => String(index)),
  ];
  return random.pick(odd)();
}

export interface OddAnswer {
  readonly json: Json;
  readonly where: string;
  /** True if an amount was replaced by a text that is none. */
  readonly isOddAmount: boolean;
}

/** Changed in place, and named: a member is replaced or, of an object, left out. */
export function makeOdd(json: Json, random: Random): OddAnswer {
  const holder = { answer: json };
  let [parent, key]: [Json, string] = [holder, 'answer'];
  const path = [key];
  while (typeof parent[key] === 'object' && parent[key] !== null && random.chance(0.9)) {
    const keys = Object.keys(parent[key]);
    if (keys.length === 0) break;
    parent = parent[key];
    key = random.pick(keys);
    path.push(key);
  }
  const where = path.join('.');
  if (!Array.isArray(parent) && parent !== holder && random.chance(0.2)) {
    delete parent[key];
    return { json: holder.answer, where: `${where} left out`, isOddAmount: false };
  }
  const isAmount = /^-?\d+\.\d+$/.test(String(parent[key]));
  const odd = drawOdd(random);
  parent[key] = odd;
  const isOddAmount = isAmount && ODD_AMOUNTS.includes(odd);
  const shown = JSON.stringify(odd).slice(0, 60);
  return { json: holder.answer, where: `${where} = ${shown}`, isOddAmount };
}
