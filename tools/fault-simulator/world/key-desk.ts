/** Creates and revokes keys as an operator would, and knows which secrets may open the service. */

import { EmbeddedKeyStore } from '../../../src/access/embedded/embedded-keys.ts';
import { SIMULATED_ROOT } from '../system/simulated-files.ts';
import type { Machine } from './machine.ts';

/** A key whose budget no run can spend, and one that every run does. */
const AMPLE = { weight: 1_000_000_000, periodMs: 60_000 };
const SCARCE = { weight: 40, periodMs: 4_000 };

export interface KnownSecret {
  readonly id: string;
  readonly secret: string;
  readonly budget: typeof AMPLE;
  readonly createdMs: number;
  /** When it was certainly revoked; undefined if it was not. */
  revokedMs: number | undefined;
  /** Its record was damaged, or nobody knows whether a change of it took effect. */
  isUncertain: boolean;
}

export class KeyDesk {
  readonly #machine: Machine;
  readonly secrets: KnownSecret[] = [];

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** In the current process, which may be killed before it is done. */
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

  /** A random change by a process of its own, which a crash may interrupt. */
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
