/** Reads the list of perp dexes, with their full names. */

import { ask, type Refusal } from '../service/service.ts';
import { type Dex, FIRST_DEX } from '../view/store.ts';
import type { LiveData } from './live-data.ts';

/**
 * The interval is long, because the list rarely changes, and the account's answer also has the
 * names of all dexes.
 */
const LOOK_MS = 600_000;
const FAILED_MS = 30_000;

export class DexWatch {
  readonly #live: LiveData;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round = 0;

  constructor(live: LiveData) {
    this.#live = live;
  }

  /** Call this when the key has changed. */
  look(): void {
    this.#round++;
    clearTimeout(this.#timer);
    void this.#look(this.#round);
  }

  async #look(round: number): Promise<void> {
    const { key, keyProblem } = this.#live.view;
    if (key === '' || keyProblem !== '') return;
    let delayMs = LOOK_MS;
    try {
      const dexes = await loadDexes(key);
      if (round !== this.#round) return;
      this.#live.setDexes(dexes);
    } catch (error) {
      // The panels report the error. This class only retries later if a retry can succeed.
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
