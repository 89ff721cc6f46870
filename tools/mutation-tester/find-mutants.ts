/**
 * The mutants of a compiled file: small changes to its code, each of which some test should notice.
 * All mutants are compiled into one file, each behind a switch, so that no build is necessary to
 * try a mutant (switch-forms.ts). Loops count their turns, so that an endless loop ends
 * (switches.ts).
 */

import { type ESTree, parseSync } from 'vite';
import {
  isPure,
  type MutatedExpression,
  type SwitchForm,
  switchExpression,
  switchStatement,
} from './switch-forms.ts';

/** A change, and its place in the compiled file. */
export interface Change {
  /**
   * The function, the kind of the change, and a number if the function has several changes of this
   * kind. The name stays the same when lines move or a message is reworded.
   */
  readonly name: string;
  readonly start: number;
  readonly original: string;
  readonly mutated: string;
}

interface FileWithMutants {
  /** Change number n is behind the switch `firstId + n`. */
  readonly changes: readonly Change[];
  readonly code: string;
}

type Node = ESTree.Node;

/** The position of a node in its parent. */
interface Place {
  /** The function, method or constant of the file that contains the node. */
  readonly owner: string;
  readonly parent: Node;
  readonly key: string;
  /** True before the last link of an optional chain, where parentheses would cut the chain. */
  readonly isInChain: boolean;
}

export const REMOVED = '(removed)';

const BINARY: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '&': ['|'],
  '|': ['&'],
  '^': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
};

const ASSIGNMENTS: Readonly<Record<string, string>> = {
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '%=': '*=',
  '&=': '|=',
  '|=': '&=',
  '^=': '&=',
  '<<=': '>>=',
  '>>=': '<<=',
  '>>>=': '<<=',
  '??=': '=',
  '||=': '=',
  '&&=': '=',
};

/** Methods and their opposites. */
const METHODS: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  trunc: 'ceil',
  round: 'floor',
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
};

/** Methods that can be left out, because their object has the same type as their result. */
const OMITTED = new Set(['filter', 'sort', 'toSorted', 'slice', 'subarray', 'reverse', 'padStart']);

/** Statements that can be left out, and their names in reports. */
const REMOVABLE: Readonly<Record<string, string>> = {
  ExpressionStatement: 'statement',
  ReturnStatement: 'return',
  ThrowStatement: 'throw',
  BreakStatement: 'break',
  ContinueStatement: 'continue',
};

/** A short description of the change, and the text that replaces the node. */
type Mutation = readonly [kind: string, text: string];

export function findMutants(code: string, firstId: number, form: SwitchForm): FileWithMutants {
  const { program, errors } = parseSync('compiled.js', code, { sourceType: 'module' });
  if (errors.length > 0) throw new Error(`the build cannot be parsed: ${errors[0].message}`);
  const changes: Change[] = [];
  const text = (node: Node) => code.slice(node.start, node.end);
  const counts = new Map<string, number>();

  function nameChange(owner: string, kind: string): string {
    const name = `${owner}: ${kind}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name} #${count}`;
  }

  /** Returns the original code of a node, with the switches of everything inside it. */
  function renderInside(node: Node, isInChain: boolean, owner: string): string {
    let rendered = '';
    let end = node.start;
    for (const [key, child] of listChildren(node)) {
      const isLink = isInChain && (key === 'object' || key === 'callee');
      rendered += code.slice(end, child.start);
      const place = { owner: findOwner(child, owner, text), parent: node, key, isInChain: isLink };
      rendered += render(child, place);
      end = child.end;
    }
    return rendered + code.slice(end, node.end);
  }

  function render(node: Node, place: Place): string {
    if (isFixed(node, place)) return text(node);
    const mutated = [...listMutated(node, place, text)].map(([kind, each]) => {
      const name = nameChange(place.owner, kind);
      changes.push({ name, start: node.start, original: text(node), mutated: each });
      const id = firstId + changes.length - 1;
      return { id, text: each, isPure: isComparable(node, place, each) };
    });
    const isChain = node.type === 'ChainExpression' || place.isInChain;
    const inside = renderInside(node, isChain, place.owner);
    const switched = addSwitches(node, place, inside, mutated);
    return place.key === 'body' && isLoop(place.parent) ? `{countTurn();${switched}}` : switched;
  }

  function addSwitches(
    node: Node,
    place: Place,
    inside: string,
    mutated: readonly MutatedExpression[],
  ): string {
    if (mutated.length === 0) return inside;
    if (node.type in REMOVABLE) return switchStatement(form, inside, mutated[0].id);
    return switchExpression(form, inside, mutated, isCondition(place));
  }

  return { code: renderInside(program, false, ''), changes };
}

/**
 * Returns the owner of the nodes inside a node. Declarations of the file, and members of its
 * classes, are owners.
 */
function findOwner(node: Node, owner: string, text: TextOf): string {
  if (node.type === 'MethodDefinition' || node.type === 'PropertyDefinition') {
    return owner.includes('.') ? owner : `${owner}.${text(node.key)}`;
  }
  const isDeclaration = /^(Function|Class)Declaration$|^VariableDeclarator$/.test(node.type);
  if (owner !== '' || !isDeclaration || !('id' in node) || !node.id) return owner;
  return text(node.id);
}

/** True if the value of the mutant can be computed in addition to the original value. */
function isComparable(node: Node, place: Place, mutated: string): boolean {
  if (isCondition(place) && (mutated === 'false' || mutated === 'true')) return true;
  // Another literal always has another value.
  return (
    node.type !== 'Literal' && isPure(node, (each) => listChildren(each).map(([, child]) => child))
  );
}

/** Returns the children of a node, in the order of the text. */
function listChildren(node: Node): [key: string, child: Node][] {
  const children: [string, Node][] = [];
  for (const [key, value] of Object.entries(node)) {
    // In a shorthand property, key and value are the same text.
    if (key === 'key' && 'shorthand' in node && node.shorthand) continue;
    const items: unknown[] = Array.isArray(value) ? value : [value];
    for (const item of items) if (isNode(item)) children.push([key, item]);
  }
  return children.sort(([, a], [, b]) => a.start - b.start);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Properties whose value is text for people. */
const PROSE = ['summary', 'description'];

/**
 * True for names, addresses of modules, directives and text for people, because they contain no
 * code that runs.
 */
function isFixed(node: Node, { parent, key }: Place): boolean {
  if (parent.type === 'Property' && key === 'value' && parent.key.type === 'Identifier') {
    if (PROSE.includes(parent.key.name)) return node.type !== 'Identifier';
  }
  if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return true;
  if (key === 'source' || key === 'directive') return true;
  if (parent.type === 'TaggedTemplateExpression' && key === 'quasi') return true;
  return key === 'key' && 'computed' in parent && !parent.computed;
}

type TextOf = (node: Node) => string;

function* listMutated(node: Node, place: Place, text: TextOf): Iterable<Mutation> {
  if (isCondition(place) && !isConstant(node)) {
    yield ['condition false', 'false'];
    // A mutant with an endless loop shows little about the tests.
    if (!isLoop(place.parent)) yield ['condition true', 'true'];
  }
  if (isArrowBody(node, place)) yield ['result undefined', 'undefined'];
  yield* listOwn(node, place, text);
}

/** True for loops that may be endless. */
function isLoop(node: Node): boolean {
  return ['WhileStatement', 'DoWhileStatement', 'ForStatement'].includes(node.type);
}

function isCondition({ parent, key }: Place): boolean {
  if (key !== 'test') return false;
  return isLoop(parent) || parent.type === 'IfStatement' || parent.type === 'ConditionalExpression';
}

function isConstant(node: Node): boolean {
  return node.type === 'Literal';
}

function isArrowBody(node: Node, { parent, key }: Place): boolean {
  if (parent.type !== 'ArrowFunctionExpression' || key !== 'body') return false;
  return node.type !== 'BlockStatement' && node.type !== 'Literal' && node.type !== 'Identifier';
}

function* listOwn(node: Node, place: Place, text: TextOf): Iterable<Mutation> {
  switch (node.type) {
    case 'BinaryExpression':
      for (const operator of BINARY[node.operator] ?? []) {
        const mutated = `(${text(node.left)}) ${operator} (${text(node.right)})`;
        yield [`${node.operator} to ${operator}`, mutated];
      }
      break;
    case 'LogicalExpression':
      yield* listOfLogical(node, text);
      break;
    case 'UnaryExpression':
      if (['-', '!', '~'].includes(node.operator)) {
        yield [`without ${node.operator}`, text(node.argument)];
      }
      break;
    case 'UpdateExpression': {
      const [operator, operand] = [node.operator === '++' ? '--' : '++', text(node.argument)];
      const mutated = node.prefix ? `${operator}${operand}` : `${operand}${operator}`;
      yield [`${node.operator} to ${operator}`, mutated];
      break;
    }
    case 'AssignmentExpression':
      if (node.operator in ASSIGNMENTS) {
        const operator = ASSIGNMENTS[node.operator];
        const mutated = `${text(node.left)} ${operator} ${text(node.right)}`;
        yield [`${node.operator} to ${operator}`, mutated];
      }
      break;
    case 'ArrayExpression':
      if (node.elements.length > 0) yield ['empty array', '[]'];
      break;
    case 'ObjectExpression':
      if (node.properties.length > 0) yield ['empty object', '{}'];
      break;
    case 'TemplateLiteral':
      yield ['empty template', "''"];
      break;
    case 'Literal':
      yield* listOfLiteral(node);
      break;
    case 'ChainExpression':
      yield* listWithoutOptional(node, text);
      break;
    case 'CallExpression':
      if (!place.isInChain) yield* listOfCall(node, text);
      break;
    default:
      if (node.type in REMOVABLE && !isSuperCall(node)) {
        yield [`without ${REMOVABLE[node.type]}`, REMOVED];
      }
  }
}

type Logical = Extract<Node, { type: 'LogicalExpression' }>;

function* listOfLogical({ operator, left, right }: Logical, text: TextOf): Iterable<Mutation> {
  yield [`left of ${operator}`, text(left)];
  yield [`right of ${operator}`, text(right)];
  if (operator === '??') return;
  const other = operator === '&&' ? '||' : '&&';
  yield [`${operator} to ${other}`, `(${text(left)}) ${other} (${text(right)})`];
}

function isSuperCall(node: Node): boolean {
  if (node.type !== 'ExpressionStatement') return false;
  return node.expression.type === 'CallExpression' && node.expression.callee.type === 'Super';
}

type Literal = Extract<Node, { type: 'Literal' }>;

function* listOfLiteral(node: Literal): Iterable<Mutation> {
  if ('regex' in node) {
    const { pattern, flags } = node.regex;
    if (pattern.startsWith('^')) yield ['pattern without ^', `/${pattern.slice(1)}/${flags}`];
    if (pattern.endsWith('$')) yield ['pattern without $', `/${pattern.slice(0, -1)}/${flags}`];
    return;
  }
  const { value } = node;
  if (typeof value === 'boolean') yield [`not ${value}`, String(!value)];
  else if (typeof value === 'number') yield [`${value} + 1`, String(value + 1)];
  else if (typeof value === 'bigint') yield [`${value}n + 1n`, `${value + 1n}n`];
  else if (value === '') yield ['text for none', "'mutant'"];
  else if (typeof value === 'string') yield ['empty text', "''"];
}

/** Yields the chain without one of its question marks, for each of them. */
function* listWithoutOptional(chain: Node, text: TextOf): Iterable<Mutation> {
  const code = text(chain);
  for (const link of listLinks(chain)) {
    if (!('optional' in link) || !link.optional) continue;
    const before = link.type === 'CallExpression' ? link.callee : link.object;
    const at = code.indexOf('?.', before.end - chain.start);
    const isNamed = link.type === 'MemberExpression' && !link.computed;
    yield ['without ?', `${code.slice(0, at)}${isNamed ? '.' : ''}${code.slice(at + 2)}`];
  }
}

type Link = Extract<Node, { type: 'CallExpression' | 'MemberExpression' }>;

function* listLinks(node: Node): Iterable<Link> {
  if (node.type === 'ChainExpression') yield* listLinks(node.expression);
  if (node.type !== 'CallExpression' && node.type !== 'MemberExpression') return;
  yield node;
  yield* listLinks(node.type === 'CallExpression' ? node.callee : node.object);
}

function* listOfCall(node: ESTree.CallExpression, text: TextOf): Iterable<Mutation> {
  const { callee } = node;
  if (callee.type !== 'MemberExpression' || callee.computed) return;
  const method = text(callee.property);
  const receiver = text(callee.object);
  if (OMITTED.has(method)) yield [`without ${method}`, receiver];
  if (!Object.hasOwn(METHODS, method)) return;
  const [other, list] = [METHODS[method], node.arguments.map(text).join(', ')];
  yield [`${method} to ${other}`, `${receiver}.${other}(${list})`];
}
