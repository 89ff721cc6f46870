/** Compares a user's accounts on the probed server with our figures. */

import type { Address } from '../../exact/address.ts';
import type { QuestionBody } from '../../info/question.ts';
import type { ComparedFigure } from '../dialect/account-check.ts';
import { checkPrintedAmounts } from './printed-check.ts';
import type { ProbeClient } from './probe-client.ts';
import type { AccountRow } from './probe-report.ts';

type Ask = (question: QuestionBody) => Promise<unknown>;

/**
 * Reads an account and everything that the check needs, and compares its figures. Rejects if the
 * account cannot be read.
 */
export type CompareAccount = (
  ask: Ask,
  account: { readonly user: Address; readonly dex: string },
) => Promise<{ readonly figures: readonly ComparedFigure[] }>;

/** Answers that are the same for all dexes. */
const SHARED_TYPES: readonly string[] = ['perpDexs', 'userAbstraction', 'spotClearinghouseState'];
const ACCOUNT = 'clearinghouseState';

export class ProbeAccounts {
  readonly #client: Pick<ProbeClient, 'ask'>;
  readonly #compare: CompareAccount;
  readonly #shared = new Map<string, unknown>();
  /** The answers of `meta` that are already known, by dex. */
  readonly #metas: ReadonlyMap<string, unknown>;
  /** The last answer about an account. */
  #account: unknown;

  constructor(
    client: Pick<ProbeClient, 'ask'>,
    compare: CompareAccount,
    metas: ReadonlyMap<string, unknown>,
  ) {
    this.#client = client;
    this.#compare = compare;
    this.#metas = metas;
  }

  async compare(user: Address, dex: string): Promise<AccountRow> {
    this.#account = undefined;
    try {
      const { figures } = await this.#compare((question) => this.#ask(question), { user, dex });
      const differing = figures
        .filter(({ isSame }) => !isSame)
        .map(({ field, coin, ours, theirs }) => ({ field, coin, ours, theirs }));
      return this.#describe({ dex, figures: figures.length, differing, reason: undefined });
    } catch (error) {
      const reason = (error as Error).message;
      return this.#describe({ dex, figures: 0, differing: [], reason });
    }
  }

  #describe(row: Omit<AccountRow, 'amounts'>): AccountRow {
    return { ...row, amounts: checkPrintedAmounts(this.#account) };
  }

  async #ask(question: QuestionBody): Promise<unknown> {
    const key = JSON.stringify(question);
    const meta = question.type === 'meta' ? this.#metas.get(String(question['dex'])) : undefined;
    const known = meta ?? this.#shared.get(key);
    if (known !== undefined) return known;
    const answer = await this.#client.ask(question);
    if (answer === undefined) throw new Error('the probe has ended');
    if (answer.reason !== undefined) throw new Error(`${question.type}: ${answer.reason}`);
    if (SHARED_TYPES.includes(question.type)) this.#shared.set(key, answer.json);
    if (question.type === ACCOUNT) this.#account = answer.json;
    return answer.json;
  }
}
