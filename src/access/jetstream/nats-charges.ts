/**
 * Shares charges between the replicas of a ledger on NATS, so that a key has one budget on all
 * machines. The charges are core NATS messages, which are delivered at most once: losing a charge
 * is better than waiting for its delivery.
 *
 *   subject perpinfo.NAME.charges   { from, charges }; a sender ignores the messages that it sent itself
 */

import { randomUUID } from 'node:crypto';
import { connectNats, type NatsLink } from '../../ledger/jetstream/nats.ts';
import type { NatsOptions } from '../../ledger/jetstream/nats-client.ts';
import type { ChargeChannel } from '../budget-sharing.ts';
import type { Charge } from '../budgets.ts';

class NatsCharges implements ChargeChannel {
  readonly #link: NatsLink;
  readonly #subject: string;
  readonly #from = randomUUID();

  constructor(link: NatsLink) {
    this.#link = link;
    this.#subject = `perpinfo.${link.name}.charges`;
  }

  send(charges: readonly Charge[]): void {
    if (!this.#link.isConnected) return;
    this.#link.connection.publish(this.#subject, JSON.stringify({ from: this.#from, charges }));
  }

  onCharges(absorb: (charges: readonly Charge[]) => void): void {
    this.#link.connection.subscribe(this.#subject, {
      callback: (error, message) => {
        if (error !== null) return;
        const { from, charges } = parseMessage(message.string());
        if (from !== this.#from && charges.length > 0) absorb(charges);
      },
    });
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

function parseMessage(text: string): { from: unknown; charges: readonly Charge[] } {
  try {
    const { from, charges } = JSON.parse(text);
    return { from, charges: charges.filter(isCharge) };
  } catch {
    return { from: undefined, charges: [] }; // The message was not sent by perpinfo.
  }
}

/**
 * Checks a charge, because everybody who may publish on the subject can send anything. Refunds from
 * other processes are ignored.
 */
function isCharge(value: unknown): value is Charge {
  const { id, weight, budget } = (value ?? {}) as Partial<Charge>;
  const amounts = [weight, budget?.weight, budget?.periodMs];
  return typeof id === 'string' && amounts.every(isAmount);
}

function isAmount(value: number | undefined): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

/** Opens a channel to the other replicas; returns undefined if the ledger is in a folder. */
export async function openNatsCharges(
  options: NatsOptions | undefined,
): Promise<NatsCharges | undefined> {
  return options === undefined ? undefined : new NatsCharges(await connectNats(options));
}
