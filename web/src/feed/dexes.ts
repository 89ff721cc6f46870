/** Which perp dexes there are, and what the user has on each of them. */

import type { States } from '../figures/risk.ts';
import { ask, type Refusal } from '../service/service.ts';
import { type Dex, FIRST_DEX, type Store } from '../view/view.ts';

const LOOK_MS = 10_000;
const FAILED_MS = 30_000;
/** The list of dexes rarely changes: it is refreshed every Nth poll. */
const LOOKS_PER_LIST = 6;

/** Polls every few seconds: the picker's marks need not be from the same block as the figures. */
export class DexScout {
  readonly #store: Store;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round = 0;
  #looks = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** To be called when key or user have changed. */
  look(): void {
    this.#round++;
    this.#looks = 0;
    clearTimeout(this.#timer);
    void this.#look(this.#round);
  }

  async #look(round: number): Promise<void> {
    const { key, user, keyProblem } = this.#store.view;
    if (key === '' || keyProblem !== '') return;
    let delayMs = LOOK_MS;
    try {
      if (this.#looks++ % LOOKS_PER_LIST === 0) {
        const dexes = await loadDexes(key);
        if (round !== this.#round) return;
        this.#store.set({ dexes });
      }
      if (user !== '') {
        const dexStates = await loadStates(key, user);
        if (round !== this.#round) return;
        this.#store.set({ dexStates });
      }
    } catch (error) {
      // The panels report the error; here it only means to retry later, if at all.
      const { status, retryAfterMs } = error as Refusal;
      if (status === 401 || status === 422) return;
      delayMs = Math.max(FAILED_MS, retryAfterMs);
    }
    if (round === this.#round) this.#timer = setTimeout(() => void this.#look(round), delayMs);
  }
}

async function loadDexes(key: string): Promise<readonly Dex[]> {
  const { value } = await ask(key, { type: 'perpDexs' });
  const further = (value as readonly (Dex | null)[]).filter((dex) => dex !== null);
  return [FIRST_DEX, ...further.map(({ name, fullName }) => ({ name, fullName }))];
}

async function loadStates(key: string, user: string): Promise<States> {
  return (await ask(key, { type: 'allDexsClearinghouseState', user })).value as States;
}
