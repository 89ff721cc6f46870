/** Compares a user's accounts on the probed server with our figures. */

import type { Address } from '../../exact/address.ts';
import type { QuestionBody } from '../../info/question.ts';
import type { AnswerAsker } from '../client/question-asker.ts';
import { UpstreamError } from '../client/upstream-error.ts';
import { AccountComparer } from './account-comparison.ts';
import { checkPrintedAmounts } from './printed-check.ts';
import type { ProbeClient } from './probe-client.ts';
import type { AccountRow } from './probe-report.ts';

const ACCOUNT = 'clearinghouseState';

export class ProbeAccounts {
  readonly #client: Pick<ProbeClient, 'ask'>;
  /** The server's answers about its markets, by type of question. */
  readonly #known: ReadonlyMap<string, unknown>;
  readonly #comparer: AccountComparer;
  /** The last answer about an account. */
  #account: unknown;

  constructor(client: Pick<ProbeClient, 'ask'>, known: ReadonlyMap<string, unknown>) {
    this.#client = client;
    this.#known = known;
    const ask = (question: QuestionBody) => this.#ask(question);
    const server: AnswerAsker = {
      ask,
      async askAnswer(question) {
        const json = await ask(question);
        return { text: JSON.stringify(json), json };
      },
    };
    this.#comparer = new AccountComparer(server, { priority: 'probe' });
  }

  async compare(user: Address, dex: string): Promise<AccountRow> {
    this.#account = undefined;
    try {
      const { mode, notes, figures } = await this.#comparer.compare({ user, dex });
      const differing = figures
        .filter(({ verdict }) => verdict === 'differs')
        .map(({ field, coin, ours, theirs }) => ({ field, coin, ours, theirs }));
      const unknown = figures.filter(({ verdict }) => verdict === 'not known').length;
      const counts = { figures: figures.length, unknown };
      return this.#describe({ dex, mode, notes, ...counts, differing, reason: undefined });
    } catch (error) {
      const nothing = { mode: undefined, notes: [], figures: 0, unknown: 0, differing: [] };
      return this.#describe({ dex, ...nothing, reason: (error as Error).message });
    }
  }

  #describe(row: Omit<AccountRow, 'amounts'>): AccountRow {
    return { ...row, amounts: checkPrintedAmounts(this.#account) };
  }

  async #ask(question: QuestionBody): Promise<unknown> {
    const known = this.#known.get(question.type);
    if (known !== undefined) return known;
    const answer = await this.#client.ask(question);
    if (answer === undefined) throw new UpstreamError('closed', 'the probe has ended');
    const { error, json } = answer;
    if (error !== undefined) {
      const { kind, status } = error;
      throw new UpstreamError(kind, `${question.type}: ${error.message}`, { status });
    }
    if (question.type === ACCOUNT) this.#account = json;
    return json;
  }
}
