/** Runs what a case asks or appends, and writes down the whole result. */

import assert from 'node:assert/strict';
import { parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import type { StateQuestion } from '../../src/info/question.ts';
import { parseQuestion, parseSubscription } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import { checkAnswer } from '../../tools/harness/answer-checks.ts';
import { parseQueryText } from '../info/states.ts';
import { type CaseFile, type Item, type Ledger, TIME } from './case-file.ts';
import { joinLines, layOut } from './json-layout.ts';
import { assertRefusedInPieces, hashState } from './refused-block.ts';

/** The line of a block at its place in the ledger. */
function formatBlock(index: number, events: readonly string[]): string {
  return `{"height":${index + 1},"time":${TIME + index * 1000},"events":[${events.join(',')}]}`;
}

/** The state of a ledger; an error names the block that does not apply. */
export function foldLedger(file: CaseFile, { blocks }: Ledger): State {
  const state = createState();
  blocks.forEach((events, index) => {
    try {
      applyBlock(state, parseBlock(formatBlock(index, events)));
    } catch (error) {
      file.fail(`a block of the ledger does not apply: ${(error as Error).message}`);
    }
  });
  return state;
}

/** The next block of a ledger: the events that come first, and these. */
export function nextLine({ blocks, before }: Ledger, events: readonly string[]): string {
  return formatBlock(blocks.length, [...before, ...events]);
}

/** The lines that the file should have below the item. */
export function runItem(file: CaseFile, state: State, ledger: Ledger, item: Item): string[] {
  const text = file.expand(item.text);
  const result = file.shorten(runText(file, state, ledger, { ...item, text }), item.line);
  if (result.startsWith('! ')) return [result];
  const lines = layOut(result);
  assert.equal(joinLines(lines), result);
  return lines;
}

function runText(file: CaseFile, state: State, ledger: Ledger, item: Item): string {
  const { keyword, text } = item;
  if (keyword === 'line') return `! ${findRefusal(state, text)}`;
  if (keyword === 'next') return `! ${findRefusal(state, nextLine(ledger, [text]))}`;
  if (keyword === 'event') return `! ${spoilSample(file, state, ledger, item)}`;
  try {
    return ANSWERS[keyword](state, text);
  } catch (error) {
    if (error instanceof RequestError) return showRefusal(error);
    throw error;
  }
}

/** What is asked about a question; each throws a RequestError if the question is refused. */
const ANSWERS = {
  ask: (state: State, body: string) => answer(state, parseQuestion(parseBody(body))),
  query: (state: State, query: string) => answer(state, parseQueryText(query)),
  changed: (state: State, body: string) => String(parseQuestion(parseBody(body)).changedAt(state)),
  weigh: (_: State, body: string) => String(parseQuestion(parseBody(body)).weight),
  subscribe: (_: State, body: string) => `{${parseSubscription(parseBody(body)).formatFields()}}`,
};

function parseBody(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text);
}

/** The refusal of a sample with other fields, without the place, which is always the same. */
function spoilSample(file: CaseFile, state: State, ledger: Ledger, item: Item): string {
  const [, type, fields] = /^(\w+) (.*)$/s.exec(item.text) ?? file.fail('no event', item.line);
  const sample = ledger.samples.get(type) ?? file.fail(`no sample of ${type}`, item.line);
  const event = { type, ...JSON.parse(sample), ...JSON.parse(fields) };
  const message = findRefusal(state, nextLine(ledger, [JSON.stringify(event)]));
  const place = `block ${ledger.blocks.length + 1}, event ${ledger.before.length} (${type}): `;
  assert.ok(message.startsWith(place), message);
  return message.slice(place.length);
}

/** Why a block is refused, whole or in pieces; the refusal leaves the state as it was. */
export function findRefusal(state: State, line: string): string {
  const hash = hashState(state);
  try {
    applyBlock(state, parseBlock(line));
  } catch (error) {
    assert.ok(error instanceof BlockError, `expected a BlockError, got ${error}`);
    assert.equal(hashState(state), hash, 'the state has changed');
    assertRefusedInPieces(state, hash, line);
    return error.message;
  }
  return assert.fail(`the block was applied: ${line.slice(0, 300)}`);
}

function answer(state: State, question: StateQuestion): string {
  const refusal = refusalOf(() => question.answer(state));
  checkValidation(
    refusalOf(() => question.validate(state)),
    refusal,
  );
  const json = question.answer(state);
  checkAnswer(question.type, json);
  assert.equal(write(question, state), json);
  return json;
}

/** The same answer, in a buffer that has to grow. */
function write(question: StateQuestion, state: State): string {
  const out = new AnswerWriter(1);
  question.write(out, state);
  return out.toString();
}

/** A question is refused before it is answered, unless the ledger does not know whom it is about. */
function checkValidation(early: RequestError | undefined, late: RequestError | undefined): void {
  if (early === undefined && late?.code === 'not_ready' && late.field === 'user') return;
  if (early === undefined && late?.message.includes('whose mode the ledger holds')) return;
  assert.deepEqual(early?.message, late?.message);
}

function refusalOf(work: () => unknown): RequestError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

function showRefusal({ status, code, field, message }: RequestError): string {
  return `! ${status} ${code}${field === undefined ? '' : ` (${field})`} ${message}`;
}
