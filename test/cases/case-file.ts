/** Reads a file of cases: ledgers of events, what is asked or appended, and the expected results (README.md). */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { OWN_TYPES, PUSHED_TYPES } from '../../src/info/question-types.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { joinLines, LINE_LENGTH } from './json-layout.ts';

const FOLDER = path.join(PROJECT, 'test/cases');

/** The time of the first block; blocks are a second apart. */
export const TIME = 1_758_556_800_000;

/** What a case does: asks about a question, or appends a block that is refused. */
const ITEMS = ['ask', 'query', 'changed', 'weigh', 'subscribe', 'event', 'next', 'line'] as const;

/** What is done, as the file has it, and the text that the file expects of it. */
export interface Item {
  readonly keyword: (typeof ITEMS)[number];
  readonly text: string;
  /** What later answers call this one: `ask as NAME ...`. */
  readonly name: string | undefined;
  /** The line in the file, from 1 on. */
  readonly line: number;
  /** The lines of the result; a short result stands behind an arrow in the line of the item. */
  readonly expected: string[];
}

/** What a case finds: a ledger, and how the tables of refusals begin a block. */
export interface Ledger {
  /** The events of each block, as JSON texts. */
  readonly blocks: readonly (readonly string[])[];
  /** Events that come first in each block that is refused. */
  readonly before: readonly string[];
  /** An event of each type that applies after those. */
  readonly samples: ReadonlyMap<string, string>;
}

export interface Case {
  readonly title: string;
  readonly ledger: Ledger;
  readonly items: readonly Item[];
}

/** The files, without .txt. */
export function listCaseFiles(): string[] {
  return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.txt'))
    .map((file) => file.slice(0, -'.txt'.length))
    .sort();
}

export function pathOf(name: string): string {
  return path.join(FOLDER, `${name}.txt`);
}

export class CaseFile {
  readonly name: string;
  readonly cases: Case[] = [];
  readonly #lines: readonly string[];
  /** The names that the file declares, with their values and lines, and the names that every file has. */
  readonly #names = new Map([
    ['TYPES', { value: listNames(OWN_TYPES), line: 0 }],
    ['PUSHED_TYPES', { value: listNames(PUSHED_TYPES), line: 0 }],
  ]);
  #ledger: Ledger = EMPTY;
  /** Takes the indented lines below the last line that is not indented. */
  #takeIndented: ((text: string) => void) | undefined;

  constructor(name: string, text = readFileSync(pathOf(name), 'utf8')) {
    this.name = name;
    this.#lines = text.split('\n');
    this.#lines.forEach((line, index) => {
      this.#readLine(line, index);
    });
    for (const item of this.cases.flatMap(({ items }) => items)) {
      if (item.name !== undefined && item.expected.length > 0) {
        this.nameAnswer(item, item.expected);
      }
    }
    for (const { title, items } of this.cases) {
      if (items.length === 0) this.fail(`the case "${title}" asks nothing`);
    }
    const titles = this.cases.map(({ title }) => title);
    if (new Set(titles).size < titles.length) this.fail('two cases have the same title');
  }

  fail(message: string, line?: number): never {
    throw new Error(`${this.name}.txt${line === undefined ? '' : `:${line}`}: ${message}`);
  }

  #readLine(line: string, index: number): void {
    if (line === '' || line.startsWith('#')) return;
    if (line.startsWith('  ')) {
      if (this.#takeIndented === undefined) this.fail('nothing takes this line', index + 1);
      this.#takeIndented(line.slice(2));
      return;
    }
    const [, keyword, rest] = /^(\w+) ?(.*)$/.exec(line) ?? this.fail('no keyword', index + 1);
    this.#takeIndented = undefined;
    if ((ITEMS as readonly string[]).includes(keyword)) {
      const [item, ...short] = ` ${rest}`.split(ARROW);
      const [, name, text = ''] = /^ (?:as ([A-Z][A-Z_]*) )?(.*)$/.exec(item) ?? [];
      this.#addItem({
        ...{ keyword: keyword as Item['keyword'], name, text, line: index + 1 },
        expected: short,
      });
    } else {
      const read = this.#readers[keyword] ?? this.fail(`no keyword: "${keyword}"`, index + 1);
      read(rest, index + 1);
    }
  }

  #addItem(item: Item): void {
    const last = this.cases.at(-1) ?? this.fail('there is no case for it', item.line);
    (last.items as Item[]).push(item);
    this.#takeIndented = (text) => item.expected.push(text);
  }

  readonly #readers: Readonly<Record<string, (rest: string, line: number) => void>> = {
    let: (rest, line) => {
      const [, name, value] = /^([A-Z][A-Z_]*) = (.+)$/.exec(rest) ?? this.fail('no name', line);
      this.#names.set(name, { value: this.expand(value), line });
    },
    ledger: () => {
      this.#ledger = EMPTY;
    },
    block: () => {
      const events: string[] = [];
      this.#ledger = { ...this.#ledger, blocks: [...this.#ledger.blocks, events] };
      this.#takeIndented = (text) => events.push(this.expand(text));
    },
    before: () => {
      const before: string[] = [];
      this.#ledger = { ...this.#ledger, before };
      this.#takeIndented = (text) => before.push(this.expand(text));
    },
    sample: (rest, line) => {
      const [, type, fields] = /^(\w+) (\{.*\})$/.exec(rest) ?? this.fail('no event', line);
      const samples = new Map(this.#ledger.samples).set(type, this.expand(fields));
      this.#ledger = { ...this.#ledger, samples };
    },
    case: (title) => {
      this.cases.push({ title, ledger: this.#ledger, items: [] });
    },
  };

  /** Replaces `$NAME` by its value, and `${text*count}` by so many copies of the text. */
  expand(text: string): string {
    return text
      .replace(/\$\{(.+?)\*(\d+)\}/g, (_, part: string, count) => part.repeat(Number(count)))
      .replace(/\$([A-Z][A-Z_]*)/g, (_, name) => {
        return this.#names.get(name)?.value ?? this.fail(`$${name} has no value`);
      });
  }

  /** Writes names for their values, for a line below their declarations: the reverse of `expand`. */
  shorten(text: string, line: number): string {
    const names = [...this.#names].filter(([, declared]) => declared.line < line);
    // A long value may contain a short one.
    names.sort(([, one], [, other]) => other.value.length - one.value.length);
    let short = text;
    for (const [name, { value }] of names) short = short.replaceAll(value, () => `$${name}`);
    if (this.expand(short) !== text) this.fail('a result cannot be written with names', line);
    return short;
  }

  nameAnswer({ name = '', line }: Item, lines: readonly string[]): void {
    if (lines.length === 0) this.fail(`$${name} has no answer yet`, line);
    this.#names.set(name, { value: this.expand(joinLines(lines)), line });
  }

  /** The file, with these results. */
  format(resultOf: (item: Item, each: Case) => readonly string[]): string {
    const results = new Map<number, readonly string[]>();
    for (const each of this.cases) {
      for (const item of each.items) results.set(item.line, resultOf(item, each));
    }
    const written: string[] = [];
    let isResult = false;
    for (const [index, line] of this.#lines.entries()) {
      const result = results.get(index + 1);
      if (result !== undefined) written.push(...withResult(line.split(ARROW)[0], result));
      else if (!isResult || !line.startsWith('  ')) written.push(line);
      isResult = result !== undefined || (isResult && line.startsWith('  '));
    }
    return written.join('\n');
  }
}

const ARROW = ' -> ';

function listNames(types: readonly { readonly type: string }[]): string {
  return types.map(({ type }) => type).join(', ');
}

function withResult(item: string, result: readonly string[]): string[] {
  const whole = `${item}${ARROW}${result[0]}`;
  if (result.length === 1 && whole.length <= LINE_LENGTH) return [whole];
  return [item, ...result.map((line) => `  ${line}`)];
}

const EMPTY: Ledger = { blocks: [], before: [], samples: new Map() };
