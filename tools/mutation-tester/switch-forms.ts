/**
 * How the switches of a node are written. In the form "trying", a switch costs little time:
 *
 *     a < b    becomes    (active.id===1?((a) <= (b)):a < b)
 *
 * The form "noting" reports whether the mutant would make a difference at this place. If the value
 * of a mutant can be computed without an effect, it is computed in addition to the original value:
 *
 *     a < b    becomes    (enter(1),compare((a < b),1,()=>((a) <= (b))))
 *
 * Every other mutant counts as reached when its code is reached. A mutant that was entered but
 * never compared also counts as reached, because the original code has thrown an error. Files whose
 * mutants are not tried have no switches, so that tests are faster.
 */

import type { ESTree } from 'vite';

export type SwitchForm = 'noting' | 'trying' | 'none';

type Node = ESTree.Node;

/** A mutant of an expression. */
export interface MutatedExpression {
  readonly id: number;
  readonly text: string;
  /**
   * True if its value can be computed in addition to the original value: this has no effect, but
   * may throw.
   */
  readonly isPure: boolean;
}

/** Returns an expression with the switches of its mutants; `inside` is the original expression. */
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

/** Returns a statement with a switch that removes it. */
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

/**
 * True if an expression can be computed again without an effect, because it calls only functions of
 * Math.
 */
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
