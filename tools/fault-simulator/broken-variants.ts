/**
 * Ways to break the code, each of which the fault simulator must notice. Each variant is one change
 * to the code of a compiled file. Spaces, comments, the words of messages and the folder of the
 * file do not matter. A variant whose code is no longer found is an error.
 */

import type { World } from './run-seed.ts';

export interface BrokenVariant {
  readonly name: string;
  /**
   * The name of the file in src/, without its ending. The name includes its folder if two files
   * have this name.
   */
  readonly file: string;
  /** The code that is replaced. */
  readonly find: string;
  readonly replacement: string;
  /** The world whose faults reveal the variant; the venue if undefined. */
  readonly world?: World;
}

/** Returns the code with the variant in it. The code to replace must occur exactly once. */
export function breakCode(code: string, { name, file, find, replacement }: BrokenVariant): string {
  const tokens = find.match(/\w+|\S/g) ?? [];
  const escaped = tokens.map((token) => token.replace(/\W/, '\\$&'));
  const parts = code.split(new RegExp(escaped.join('\\s*')));
  if (parts.length === 2) return parts.join(replacement);
  throw new Error(`${name}: found ${parts.length - 1} times in ${file}, expected once`);
}

export const BROKEN_VARIANTS: readonly BrokenVariant[] = [
  {
    name: 'acknowledge before the sync',
    file: 'embedded-writer',
    find: 'await this.store.flush(); this.#isFlushed = true;',
    replacement: 'this.#isFlushed = true;',
  },
  {
    name: 'acknowledge before the commit',
    file: 'committer',
    find: 'await this.#ledger.append(batch); this.#durable(batch[batch.length - 1].height);',
    replacement: 'this.#durable(batch[batch.length - 1].height); await this.#ledger.append(batch);',
  },
  {
    name: 'leave the name of a new folder unsynced',
    file: 'folder',
    find: 'await syncFolder(parent);',
    replacement: '',
    world: 'disk',
  },
  {
    name: 'skip the hash of a block',
    file: 'hash-chain',
    find: 'if (computed.equals(hash))',
    replacement: 'if (true)',
    world: 'disk',
  },
  {
    name: 'skip the check that the last blocks are there',
    file: 'embedded-ledger',
    find: 'if (headHeight === written)',
    replacement: 'if (true)',
    world: 'disk',
  },
  {
    name: 'apply half a block',
    file: 'fold',
    find: 'for (; index < block.events.length; index++)',
    replacement: 'for (; index < block.events.length / 2; index++)',
  },
  {
    name: 'serve across a gap',
    file: 'fold',
    find: 'checkIsNext(state, block);',
    replacement: '',
  },
  {
    name: 'take a snapshot without its checksum',
    file: 'snapshot-folder',
    find: 'if (!checksum.digest().equals(stored))',
    replacement: 'if (false)',
    world: 'disk',
  },
  {
    name: 'take an older snapshot for a newer one',
    file: 'replica',
    find: 'return new Replica(loaded.state, loaded.point);',
    replacement: 'return new Replica(loaded.state, await ledger.head());',
  },
  {
    name: 'drop blocks that no snapshot replaces',
    file: 'retention',
    find: 'if (oldest >= wanted)',
    replacement: 'if (true)',
    world: 'disk',
  },
  {
    name: 'keep an old answer at a new height',
    file: 'row-answer-cache',
    find: 'this.#heights[slot] === state.height &&',
    replacement: '',
  },
  {
    name: 'keep a tag although a mark has moved',
    file: 'changed-at',
    find: 'changedAt = Math.max(changedAt, markets.changedAt(marketIndex)); } return changedAt;',
    replacement: '} return changedAt;',
  },
  {
    name: 'keep a tag although the account has changed',
    file: 'changed-at',
    find: 'state.accounts.set(account, column.ACCOUNT_CHANGED_AT, height);',
    replacement: '',
  },
  {
    name: 'revalue with an old mark',
    file: 'markets/markets',
    find: 'this.#marks.set(index + 1, MARK_PRICE, price);',
    replacement: 'if (height % 7 !== 0) this.#marks.set(index + 1, MARK_PRICE, price);',
  },
  {
    name: 'answer an unknown account of a partial ledger as empty',
    file: 'upstream-answers',
    find: 'const refusal = state.isPartial ? findRefusal(state, subjects, readings) : undefined;',
    replacement: 'const refusal = undefined;',
  },
  {
    name: 'tell a poll that nothing changed on a partial ledger',
    file: 'present-answers',
    find: 'if (state.isPartial) requireKnown(state, question.subjects(state), upstreamAnswers);',
    replacement: '',
  },
  {
    name: 'take a revoked key',
    file: 'key-ring',
    find: 'if (version === this.#version)',
    replacement: 'if (this.#version !== -1)',
  },
  {
    name: 'take any key',
    file: 'admission',
    find: 'return this.#keys.find(secretHash, Date.now());',
    replacement:
      "return this.#keys.find(secretHash, Date.now()) ?? { id: 'any', budget: undefined };",
  },
  {
    name: 'forget a charge',
    file: 'budgets',
    find: 'bucket.spent += weight;',
    replacement: '',
  },
  {
    name: 'call a stale ledger fresh',
    file: 'live-state',
    find: 'if (maxAgeMs === 0)',
    replacement: 'if (true)',
  },
  {
    name: 'answer below the height that was asked for',
    file: 'readiness',
    find: 'if (state.height < minHeight) {',
    replacement: 'if (false) {',
  },
  {
    name: 'delete the snapshots when one cannot be saved',
    file: 'checkpoints',
    find: 'return true; } catch (error) {',
    replacement: 'return true; } catch (error) { await snapshots.remove(snapshots.heights());',
    world: 'disk',
  },
];
