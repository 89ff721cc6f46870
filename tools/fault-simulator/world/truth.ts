/**
 * The naive model with which a run is compared: every block that was ever made, and for each block
 * the answers of the naive twin, which shares no code with the tested program. The blocks form a
 * tree: if a block was lost before it was acknowledged, another block may have its height.
 */

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Random } from '../../../src/simulator/random.ts';
import { answerNaively, type Question } from '../../naive-twin/naive-answers.ts';
import type { WireBlock } from '../../naive-twin/naive-block.ts';
import { foldBlock } from '../../naive-twin/naive-fold.ts';
import { createNaiveState, type NaiveState } from '../../naive-twin/naive-state.ts';
import { FIRST_BLOCK, randomBlock, USERS } from '../../naive-twin/random-events.ts';

/** The lists of events, drawn once for all runs. Each run picks from them. */
const EVENT_LISTS = fc.sample(randomBlock, { seed: 1, numRuns: 3000 }).map(({ events }) => events);
const PICKS_MAX = 10;
const HASH_BYTES = 32;
/** A user that no event names. */
const STRANGER = `0x${'f'.repeat(40)}`;
export const ASKED_USERS = [...USERS, STRANGER];

export interface TrueBlock {
  readonly height: number;
  readonly time: number;
  readonly hash: Buffer;
  readonly line: Buffer;
  readonly state: NaiveState;
}

const START: TrueBlock = {
  height: 0,
  time: 0,
  hash: Buffer.alloc(HASH_BYTES),
  line: Buffer.alloc(0),
  state: createNaiveState(),
};

export class Truth {
  readonly #random: Random;
  readonly #mayBePartial: boolean;
  readonly #byHash = new Map([[START.hash.toString('hex'), START]]);
  readonly #byHeight = new Map<number, TrueBlock[]>([[0, [START]]]);
  readonly #answers = new Map<TrueBlock, Map<string, string | undefined>>();

  constructor(random: Random) {
    this.#random = random;
    this.#mayBePartial = random.chance(0.2);
  }

  /** Returns the block with a hash; returns undefined if no such block was ever made. */
  find(hash: Buffer): TrueBlock | undefined {
    return this.#byHash.get(hash.toString('hex'));
  }

  /** Returns all blocks that were ever made for a height. */
  at(height: number): readonly TrueBlock[] {
    return this.#byHeight.get(height) ?? [];
  }

  /** Makes a block that follows another block. */
  makeBlock(previous: TrueBlock, timeMs: number): TrueBlock {
    const time = Math.max(previous.time, timeMs);
    const height = previous.height + 1;
    if (height === 1) return this.#add(previous, { ...FIRST_BLOCK, time });
    for (let picks = 0; picks < PICKS_MAX; picks++) {
      const events = this.#random.pick(EVENT_LISTS);
      if (!this.#mayBePartial && JSON.stringify(events).includes('"partial"')) continue;
      const block = this.#tryAdd(previous, { height, time, events });
      if (block !== undefined) return block;
    }
    return this.#add(previous, { height, time, events: [] });
  }

  /** Returns a line that no ledger may accept after the block. */
  makeRefusedLine(previous: TrueBlock): Buffer {
    const { height, time } = previous;
    return Buffer.from(JSON.stringify({ height: height + 2, time, events: [] }));
  }

  #add(previous: TrueBlock, block: WireBlock): TrueBlock {
    const added = this.#tryAdd(previous, block);
    if (added === undefined) throw new Error(`the twin refuses ${JSON.stringify(block)}`);
    return added;
  }

  #tryAdd(previous: TrueBlock, block: WireBlock): TrueBlock | undefined {
    const line = Buffer.from(JSON.stringify(block));
    const folded = foldBlock(previous.state, JSON.parse(line.toString()));
    if (!folded.isAccepted) return undefined;
    const hash = createHash('sha256').update(previous.hash).update(line).digest();
    const { height, time } = block;
    const added = { height, time, hash, line, state: folded.state };
    this.#byHash.set(hash.toString('hex'), added);
    this.#byHeight.set(height, [...this.at(height), added]);
    return added;
  }

  /**
   * Returns the text of the answer; returns undefined if the question must be refused because the
   * ledger lacks the data.
   */
  answer(block: TrueBlock, question: Question): string | undefined {
    const answers = this.#answers.get(block) ?? new Map<string, string | undefined>();
    this.#answers.set(block, answers);
    const key = JSON.stringify(question);
    if (!answers.has(key)) answers.set(key, answerNaively(block.state, question));
    return answers.get(key);
  }
}
