/**
 * Both ends of a real connection to a server of this process. What is delivered to it is written at
 * once and waited for, so that it arrives as one read, through whatever the server reads with.
 */

import { once } from 'node:events';
import type { Server } from 'node:net';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Standing } from './memory-socket.ts';

/** More than the loopback interface takes; a server that has stopped reading takes nothing at all. */
const ARRIVAL_TURNS_MAX = 30;

export class LoopbackSocket {
  readonly #client: Socket;
  readonly #accepted: Socket;
  readonly #received: Buffer[] = [];
  #sent = 0;
  #isEnded = false;

  private constructor(client: Socket, accepted: Socket) {
    this.#client = client;
    this.#accepted = accepted;
    client.on('data', (bytes: Buffer) => this.#received.push(bytes));
    client.on('end', () => {
      this.#isEnded = true;
    });
    // A reset is one of the ways in which a server ends a connection.
    client.on('error', () => undefined);
    client.on('close', () => {
      this.#isEnded = true;
    });
  }

  static async open(server: Server): Promise<LoopbackSocket> {
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    await once(client, 'connect');
    const accepted = await untilAccepted(server, client.localPort);
    return new LoopbackSocket(client, accepted);
  }

  get text(): string {
    return Buffer.concat(this.#received).toString('latin1');
  }

  /** Whether a connection was ended or cut cannot be told from its end. */
  get standing(): Standing {
    return this.#isEnded ? 'ended' : 'open';
  }

  /** Changes with everything that happens on the connection. */
  get progress(): number {
    const { bytesWritten, destroyed } = this.#accepted;
    return bytesWritten + this.#client.bytesRead + Number(destroyed) + Number(this.#isEnded);
  }

  /** Whether something is between the two ends. */
  get isInFlight(): boolean {
    const { writableEnded, destroyed, writableLength } = this.#accepted;
    if (this.#isEnded || this.#client.destroyed) return false;
    return writableEnded || destroyed || writableLength > 0;
  }

  async deliver(bytes: Buffer): Promise<void> {
    if (this.#accepted.destroyed || this.#isEnded) return;
    this.#client.write(bytes);
    this.#sent += bytes.length;
    const isOver = () => this.#accepted.destroyed || this.#accepted.bytesRead >= this.#sent;
    await untilTurn(isOver);
  }

  hangUp(): void {
    this.#client.end();
  }

  reset(): void {
    this.#client.resetAndDestroy();
  }

  destroy(): void {
    this.#client.destroy();
  }
}

/** Turns of the event loop, in which sockets are read, until it is so or there were enough. */
async function untilTurn(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo() && turn < ARRIVAL_TURNS_MAX; turn++) await new Promise(setImmediate);
}

const ACCEPTED = new WeakMap<Server, Map<number, Socket>>();

/** Lets the sockets that a server accepts be found. */
export function noteAccepted(server: Server): void {
  const sockets = new Map<number, Socket>();
  ACCEPTED.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    sockets.set(remotePort, socket);
    socket.once('close', () => sockets.delete(remotePort));
  });
}

async function untilAccepted(server: Server, port: number | undefined): Promise<Socket> {
  const find = () => ACCEPTED.get(server)?.get(port ?? 0);
  await untilTurn(() => find() !== undefined);
  const socket = find();
  if (socket === undefined) throw new Error('the connection was not accepted');
  return socket;
}
