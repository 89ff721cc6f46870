/** The channel by which workers exchange their charges: messages that may be late or lost. */

import type { ChargeChannel } from '../../../src/access/budget-sharing.ts';
import type { Budgets, Charge } from '../../../src/access/budgets.ts';
import type { Kernel, SimulatedProcess } from '../system/kernel.ts';

const WAY_MS_MAX = 3;
const LATE_MS_MAX = 400;
const FAULT_CHANCE = 0.4;

interface Member {
  readonly process: SimulatedProcess;
  readonly budgets: Budgets;
  absorb: (charges: readonly Charge[]) => void;
}

export class ChargeNetwork {
  readonly #kernel: Kernel;
  #members: Member[] = [];
  /** True while messages are lost, or arrive late and out of order. */
  isFaulty = false;
  /** True if the network was ever faulty, or if the last worker that knew the charges has ended. */
  hasForgotten = false;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Adds a worker that starts. It gets what each key has spent, as a supervisor would send it. */
  join(process: SimulatedProcess, budgets: Budgets): ChargeChannel {
    this.#members = this.#members.filter((each) => !each.process.isEnded);
    const [other] = this.#members;
    if (other === undefined) this.hasForgotten ||= this.#kernel.nowMs > 0;
    else budgets.absorb(other.budgets.spent(this.#kernel.nowMs), this.#kernel.nowMs);
    const member: Member = { process, budgets, absorb: () => undefined };
    this.#members.push(member);
    return {
      send: (charges) => this.#sendFrom(member, charges),
      onCharges: (absorb) => {
        member.absorb = absorb;
      },
    };
  }

  #sendFrom(sender: Member, charges: readonly Charge[]): void {
    const { random } = this.#kernel;
    for (const member of this.#members) {
      if (member === sender) continue;
      const isHit = this.isFaulty && random.chance(FAULT_CHANCE);
      this.hasForgotten ||= isHit;
      if (isHit && random.chance(0.5)) continue;
      const delayMs = random.between(0, isHit ? LATE_MS_MAX : WAY_MS_MAX);
      this.#kernel.schedule(delayMs, () => member.absorb(charges), member.process);
    }
  }
}
