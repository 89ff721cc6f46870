/**
 * Ways to break the code that the simulator of faults must notice: each is one change to the text of a
 * compiled file. A change whose text is not found any more is an error, so that none goes stale.
 */

import type { World } from './run-seed.ts';

export interface BrokenVariant {
  readonly name: string;
  /** Below src/, without its ending. */
  readonly file: string;
  readonly find: string;
  readonly replacement: string;
  /** Whose faults notice it; the venue's if undefined. */
  readonly world?: World;
}

export const BROKEN_VARIANTS: readonly BrokenVariant[] = [
  {
    name: 'acknowledge before the sync',
    file: 'ledger/embedded/embedded-writer',
    find: 'await this.store.flush();\n        this.#isFlushed = true;',
    replacement: 'this.#isFlushed = true;',
  },
  {
    name: 'acknowledge before the commit',
    file: 'feed/committer',
    find: 'await this.#ledger.append(batch);\n            this.#durable(batch[batch.length - 1].height);',
    replacement:
      'this.#durable(batch[batch.length - 1].height);\n            await this.#ledger.append(batch);',
  },
  {
    name: 'leave the name of a new folder unsynced',
    file: 'ledger/embedded/folder',
    find: 'await syncFolder(parent);',
    replacement: '',
    world: 'disk',
  },
  {
    name: 'skip the hash of a block',
    file: 'ledger/hash-chain',
    find: 'if (computed.equals(hash))',
    replacement: 'if (true)',
    world: 'disk',
  },
  {
    name: 'skip the check that the last blocks are there',
    file: 'ledger/embedded/embedded-ledger',
    find: 'if (headHeight === written)',
    replacement: 'if (true)',
    world: 'disk',
  },
  {
    name: 'apply half a block',
    file: 'state/fold',
    find: 'for (; index < block.events.length; index++)',
    replacement: 'for (; index < block.events.length / 2; index++)',
  },
  {
    name: 'serve across a gap',
    file: 'state/fold',
    find: 'checkIsNext(state, block);',
    replacement: '',
  },
  {
    name: 'take a snapshot without its checksum',
    file: 'replica/snapshot-folder',
    find: 'if (!checksum.digest().equals(stored))',
    replacement: 'if (false)',
    world: 'disk',
  },
  {
    name: 'take an older snapshot for a newer one',
    file: 'replica/replica',
    find: 'return new Replica(loaded.state, loaded.point);',
    replacement: 'return new Replica(loaded.state, await ledger.head());',
  },
  {
    name: 'drop blocks that no snapshot replaces',
    file: 'replica/retention',
    find: 'if (oldest >= wanted)',
    replacement: 'if (true)',
    world: 'disk',
  },
  {
    name: 'keep an old answer at a new height',
    file: 'http/answering/account-answers',
    find: 'this.#heights[slot] === state.height &&',
    replacement: '',
  },
  {
    name: 'keep a tag although a mark has moved',
    file: 'state/changed-at',
    find: 'changedAt = Math.max(changedAt, markets.changedAt(marketIndex));\n    }\n    return changedAt;\n}\n/** The height of the last change of an',
    replacement: '}\n    return changedAt;\n}\n/** The height of the last change of an',
  },
  {
    name: 'keep a tag although the account has changed',
    file: 'state/changed-at',
    find: 'state.accounts.set(account, column.ACCOUNT_CHANGED_AT, height);',
    replacement: '',
  },
  {
    name: 'revalue with an old mark',
    file: 'state/markets',
    find: 'this.#marks.set(index + 1, MARK_PRICE, price);',
    replacement: 'if (height % 7 !== 0) this.#marks.set(index + 1, MARK_PRICE, price);',
  },
  {
    name: 'answer an unknown account of a partial ledger as empty',
    file: 'info/readings',
    find: 'const refusal = state.isPartial ? findRefusal(state, subjects, readings) : undefined;',
    replacement: 'const refusal = undefined;',
  },
  {
    name: 'tell a poll that nothing changed on a partial ledger',
    file: 'http/answering/answers',
    find: 'if (state.isPartial)\n            requireKnown(state, question.subjects(state), readings);',
    replacement: '',
  },
  {
    name: 'take a revoked key',
    file: 'access/key-ring',
    find: 'if (version === this.#version)',
    replacement: 'if (this.#version !== -1)',
  },
  {
    name: 'take any key',
    file: 'access/admission',
    find: 'return this.#keys.find(secretHash, Date.now());',
    replacement:
      "return this.#keys.find(secretHash, Date.now()) ?? { id: 'any', budget: undefined };",
  },
  {
    name: 'forget a charge',
    file: 'access/budgets',
    find: 'bucket.spent += weight;',
    replacement: '',
  },
  {
    name: 'call a stale ledger fresh',
    file: 'replica/live-state',
    find: 'if (maxAgeMs === 0)',
    replacement: 'if (true)',
  },
  {
    name: 'answer below the height that was asked for',
    file: 'http/answering/readiness',
    find: 'if (state.height < minHeight) {',
    replacement: 'if (false) {',
  },
  {
    name: 'delete the snapshots when one cannot be saved',
    file: 'feed/checkpoints',
    find: 'catch (error) {\n            warn(`the snapshot of height',
    replacement:
      'catch (error) {\n            await snapshots.remove(snapshots.heights()); warn(`the snapshot of height',
    world: 'disk',
  },
];
