/** A client's connection at the server: its subscriptions, and the bytes in both directions. */

import type { Kernel } from '../system/kernel.ts';
import { type Command, CommandParser, formatDelivery, type Message } from './client-protocol.ts';
import type { NetworkFaults } from './network-faults.ts';
import { Pipe } from './pipe.ts';
import type { SimulatedSocket } from './simulated-socket.ts';
import { matchesSubject } from './subjects.ts';

interface Subscription {
  readonly subject: string;
  /** The number of deliveries after which the subscription ends. */
  leftCount: number;
}

export interface ConnectionTerms {
  readonly kernel: Kernel;
  readonly faults: NetworkFaults;
  readonly socket: SimulatedSocket;
  readonly server: { readonly process: Parameters<Kernel['kill']>[0] };
  readonly isCut: () => boolean;
  publish(message: Message): void;
  subscribed(subject: string): void;
  closed(connection: ClientConnection): void;
}

export class ClientConnection {
  readonly #terms: ConnectionTerms;
  readonly #parser = new CommandParser();
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #toServer: Pipe<Buffer | 'end'>;
  readonly #toClient: Pipe<Buffer>;
  #isClosed = false;

  constructor(terms: ConnectionTerms) {
    this.#terms = terms;
    const { kernel, faults, socket, server, isCut } = terms;
    const common = { kernel, faults, isCut, losesWhatIsCut: false };
    this.#toServer = new Pipe({
      ...common,
      receiver: () => server.process,
      receive: (parts) => this.#receive(parts),
    });
    this.#toClient = new Pipe({
      ...common,
      receiver: () => socket.owner,
      receive: (parts) => socket.receive(Buffer.concat(parts)),
    });
  }

  get owner() {
    return this.#terms.socket.owner;
  }

  /** Tells the client's process that the connection is established. */
  open(info: object): void {
    this.#terms.socket.connected({
      send: (bytes) => this.#toServer.send(bytes),
      closed: () => {
        this.#toClient.close();
        this.#toServer.send('end');
      },
    });
    this.send(Buffer.from(`INFO ${JSON.stringify(info)}\r\n`));
  }

  send(bytes: Buffer): void {
    this.#toClient.send(bytes);
  }

  #receive(parts: readonly (Buffer | 'end')[]): void {
    for (const part of parts) {
      if (part === 'end') this.#close();
      else for (const command of this.#parser.parse(part)) this.#handle(command);
    }
  }

  #handle(command: Command): void {
    switch (command.type) {
      case 'ping':
        this.send(Buffer.from('PONG\r\n'));
        break;
      case 'publish':
        this.#terms.publish(command.message);
        break;
      case 'subscribe': {
        const { id, subject } = command;
        this.#subscriptions.set(id, { subject, leftCount: Number.POSITIVE_INFINITY });
        this.#terms.subscribed(subject);
        break;
      }
      case 'unsubscribe': {
        const subscription = this.#subscriptions.get(command.id);
        if (command.after === 0) this.#subscriptions.delete(command.id);
        else if (subscription !== undefined) subscription.leftCount = command.after;
        break;
      }
    }
  }

  isInterested(subject: string): boolean {
    if (this.#isClosed || this.owner.isEnded) return false;
    return [...this.#subscriptions.values()].some((each) => matchesSubject(each.subject, subject));
  }

  /**
   * Sends a message to the subscriptions of `target`, which may differ from the message's own
   * subject.
   */
  deliver(target: string, message: Message): void {
    const { faults } = this.#terms;
    for (const [id, subscription] of this.#subscriptions) {
      if (!matchesSubject(subscription.subject, target)) continue;
      if (--subscription.leftCount === 0) this.#subscriptions.delete(id);
      if (faults.losesMessage()) continue;
      this.send(formatDelivery(id, message));
      if (faults.repeatsMessage()) this.send(formatDelivery(id, message));
    }
  }

  /**
   * Sends the waiting bytes again, because the network between the client and the server works
   * again.
   */
  resend(): void {
    this.#toServer.resend();
    this.#toClient.resend();
  }

  #close(): void {
    this.#isClosed = true;
    this.#toServer.close();
    this.#toClient.close();
    this.#subscriptions.clear();
    this.#terms.closed(this);
  }

  /** Resets the connection: the bytes in flight in both directions are lost. */
  reset(): void {
    if (this.#isClosed) return;
    this.#close();
    const { kernel, socket } = this.#terms;
    kernel.schedule(0, () => socket.fail('ECONNRESET'), socket.owner);
  }
}
