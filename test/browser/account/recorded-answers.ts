/**
 * The accounts that a page was told without a height: those on some dexes are the exchange's own, and the
 * others the ledger's, so that no ledger has all of them at one height.
 */

import type { Page } from 'playwright-core';

const TYPE = 'allDexsClearinghouseState';

export class ToldAnswers {
  readonly #reported: { readonly accountTime: number; readonly states: unknown }[] = [];

  watch(page: Page): void {
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        const { channel, data } = JSON.parse(String(payload));
        if (channel === TYPE && data.accountSource === 'upstream') {
          this.#reported.push({ accountTime: data.accountTime, states: data.clearinghouseStates });
        }
      }),
    );
    page.on('response', async (response) => {
      const headers = response.headers();
      if (headers['account-source'] !== 'upstream') return;
      if (response.request().postDataJSON().type !== TYPE) return;
      const accountTime = Number(headers['account-time']);
      this.#reported.push({ accountTime, states: await response.json() });
    });
  }

  /** Oldest first: between two reads, marks may have changed. */
  at(accountTime: number): unknown[] {
    return this.#reported
      .filter((one) => one.accountTime === accountTime)
      .map(({ states }) => states);
  }
}
