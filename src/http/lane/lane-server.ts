/** Node's HTTP server with the fast lane before it. */

import { type RequestListener, Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { FastLane, type LaneParts } from './fast-lane.ts';

export class LaneServer extends Server {
  readonly #lane: FastLane;
  /** A connection is announced again when it forgoes an upgrade: it stays where it is. */
  readonly #handedOver = new WeakSet<Socket>();

  constructor(options: ServerOptions, listener: RequestListener, parts: LaneParts) {
    super(options, listener);
    const [takePlain] = this.listeners('connection') as ((socket: Socket) => void)[];
    this.off('connection', takePlain);
    this.#lane = new FastLane(parts, (socket) => {
      this.#handedOver.add(socket);
      takePlain.call(this, socket);
    });
    this.on('connection', (socket: Socket) => {
      if (this.#handedOver.has(socket)) takePlain.call(this, socket);
      else this.#lane.accept(socket);
    });
    this.on('close', () => this.#lane.stop());
  }

  override closeIdleConnections(): void {
    super.closeIdleConnections();
    this.#lane.closeIdle();
  }

  override closeAllConnections(): void {
    super.closeAllConnections();
    this.#lane.closeAll();
  }
}
