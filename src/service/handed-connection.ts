/**
 * The connection that the supervisor has handed to a worker and that the worker has not taken yet; there
 * is at most one. Node forgets it if the worker dies: it would stay open, and never be answered.
 */

import type { Worker } from 'node:cluster';

/** Node's own messages between supervisor and worker, as far as they are read here. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  /** The `seq` of the message that this one answers. */
  readonly ack?: unknown;
}

interface Handle {
  close(): void;
}

type Send = (message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => boolean;

export class HandedConnection {
  #seq: unknown;
  #handle: Handle | undefined;

  constructor({ process: child }: Worker) {
    const send = child.send.bind(child) as Send;
    child.send = ((message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => {
      if (message.act === 'newconn' && handle !== undefined) {
        this.#seq = message.seq;
        this.#handle = handle;
      }
      return send(message, handle, ...rest);
    }) as typeof child.send;
    child.on('internalMessage', ({ ack }: ClusterMessage) => {
      if (ack !== undefined && ack === this.#seq) this.#handle = undefined;
    });
  }

  /** To be called when the worker has ended: the client sees that, and asks again. */
  close(): void {
    this.#handle?.close();
    this.#handle = undefined;
  }
}
