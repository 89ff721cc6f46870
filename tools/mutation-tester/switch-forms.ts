/**
 * How the switches of a node are written. In the code that is tried, a switch costs little:
 *
 *     a < b    becomes    (active.id===1?((a) <= (b)):a < b)
 *
 * In the code that is noted, it tells whether the mutant would have made a difference where it stands.
 * Mutants that have a value of their own without any effect are computed beside the original:
 *
 *     a < b    becomes    (enter(1),compare((a < b),1,()=>((a) <= (b))))
 *
 * All others are reached as soon as their code is. One that was entered and never compared is reached
 * too: what it replaces has thrown. Files whose mutants are not tried have no switches: tests are quicker.
 */

import type { ESTree } from 'vite';

export type SwitchForm = 'noting' | 'trying' | 'none';

type Node = ESTree.Node;

/** A mutant of an expression. */
export interface MutatedExpression {
  readonly id: number;
  readonly text: string;
  /** It can be computed beside the original: this has no effect, and may throw. */
  readonly isPure: boolean;
}

/** An expression with the switches of its mutants; `inside` is the original. */
export function switchExpression(
  form: SwitchForm,
  inside: string,
  mutated: readonly MutatedExpression[],
  isCondition: boolean,
): string {
  if (form === 'none') return inside;
  if (form === 'trying') {
    const cases = mutated.map(({ id, text }) => `active.id===${id}?(${text}):`);
    return `(${cases.join('')}${inside})`;
  }
  const before = mutated.map(({ id, isPure }) => `${isPure ? 'enter' : 'reach'}(${id}),`);
  const compared = mutated
    .filter(({ isPure }) => isPure)
    .reduce((value, { id, text }) => compareWith(value, id, text, isCondition), inside);
  return `(${before.join('')}${compared})`;
}

function compareWith(value: string, id: number, text: string, isCondition: boolean): string {
  if (!isCondition) return `compare((${value}),${id},()=>(${text}))`;
  const isConstant = text === 'true' || text === 'false';
  if (isConstant) return `compareConstant((${value}),${id},${text})`;
  return `compareTruth((${value}),${id},()=>(${text}))`;
}

/** A statement that can be removed. */
export function switchStatement(form: SwitchForm, inside: string, id: number): string {
  if (form === 'none') return inside;
  if (form === 'noting') return `{reach(${id});${inside}}`;
  return `{if(active.id!==${id}){${inside}}}`;
}

const PURE_TYPES = new Set([
  'BinaryExpression',
  'ChainExpression',
  'ConditionalExpression',
  'Identifier',
  'Literal',
  'LogicalExpression',
  'MemberExpression',
  'ParenthesizedExpression',
  'PrivateIdentifier',
  'ThisExpression',
]);
const PURE_UNARY = ['-', '+', '!', '~', 'typeof'];

/** Whether an expression can be computed once more without an effect: it calls nothing but Math. */
export function isPure(node: Node, childrenOf: (node: Node) => readonly Node[]): boolean {
  if (node.type === 'UnaryExpression' && !PURE_UNARY.includes(node.operator)) return false;
  const isKnown =
    PURE_TYPES.has(node.type) || node.type === 'UnaryExpression' || isCallOfMath(node);
  return isKnown && childrenOf(node).every((child) => isPure(child, childrenOf));
}

function isCallOfMath(node: Node): boolean {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  const { object } = node.callee;
  return object.type === 'Identifier' && object.name === 'Math';
}
