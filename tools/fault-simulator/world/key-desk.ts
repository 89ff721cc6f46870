/** Creates and revokes keys like an operator, and knows which secrets should be accepted. */

import { EmbeddedKeyStore } from '../../../src/access/embedded/embedded-keys.ts';
import { SIMULATED_ROOT } from '../system/simulated-files.ts';
import type { Machine } from './machine.ts';

/** A budget that no run can spend, and a budget that every run spends. */
const AMPLE = { weight: 1_000_000_000, periodMs: 60_000 };
const SCARCE = { weight: 40, periodMs: 4_000 };

export interface KnownSecret {
  readonly id: string;
  readonly secret: string;
  readonly budget: typeof AMPLE;
  readonly createdMs: number;
  /** The time after which the key was certainly revoked; undefined if it was not revoked. */
  revokedMs: number | undefined;
  /**
   * True if the key's record was damaged, or if it is not known whether a change of the key took
   * effect.
   */
  isUncertain: boolean;
}

export class KeyDesk {
  readonly #machine: Machine;
  readonly secrets: KnownSecret[] = [];

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Creates a key in the current process, which may be killed before the key is created. */
  create(): void {
    const { kernel, keys } = this.#machine;
    const budget = kernel.random.chance(0.8) ? AMPLE : SCARCE;
    const store = new EmbeddedKeyStore(`${SIMULATED_ROOT}/keys`, keys);
    const { id, secret } = store.create({ label: 'simulated', budget, expiresMs: undefined });
    kernel.trace(`key ${id} created`);
    const known = { revokedMs: undefined, isUncertain: false };
    this.secrets.push({ id, secret, budget, createdMs: kernel.nowMs, ...known });
  }

  revoke(key: KnownSecret): void {
    const { kernel, keys } = this.#machine;
    key.isUncertain = true;
    new EmbeddedKeyStore(`${SIMULATED_ROOT}/keys`, keys).revoke(key.id);
    kernel.trace(`key ${key.id} revoked`);
    key.revokedMs ??= kernel.nowMs;
    key.isUncertain = false;
  }

  /** Makes a random change in a separate process, which a crash may interrupt. */
  changeSomething(): void {
    const { kernel } = this.#machine;
    const live = this.secrets.filter(({ revokedMs }) => revokedMs === undefined);
    const isRevoking = live.length > 2 && kernel.random.chance(0.5);
    const key = kernel.random.pick(live);
    const process = kernel.start('keys', () => {
      if (isRevoking) this.revoke(key);
      else this.create();
    });
    if (kernel.random.chance(0.2)) process.killAtWrite = 1 + kernel.random.below(3);
  }
}
