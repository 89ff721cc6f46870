/**
 * The connections that the supervisor has handed to workers and that no worker has accepted yet: at
 * most one for each worker. Node forgets such a connection if the worker dies, or if the last listening
 * worker refuses it. The connection would then stay open and never be answered.
 */

import type { Worker } from 'node:cluster';

/** Node's own messages between supervisor and worker, as far as they are read here. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  /** The `seq` of the message that this one answers. */
  readonly ack?: unknown;
  /** True if a worker has taken the connection that it was handed. */
  readonly accepted?: unknown;
}

interface Handle {
  close(): void;
}

interface Handed {
  readonly seq: unknown;
  readonly handle: Handle;
}

type Send = (message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => boolean;

/** Workers listen on one port only. */
export class HandedConnections {
  readonly #handed = new Map<Worker, Handed>();
  /** The workers that connections are handed to. */
  readonly #listening = new Set<Worker>();

  /** Call this with every worker, at once. */
  watch(worker: Worker): void {
    const { process: child } = worker;
    const send = child.send.bind(child) as Send;
    child.send = ((message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => {
      const { act, seq } = message;
      if (act === 'newconn' && handle !== undefined) this.#handed.set(worker, { seq, handle });
      return send(message, handle, ...rest);
    }) as typeof child.send;
    // Node reads each message first.
    child.on('internalMessage', (message: ClusterMessage) => this.#read(worker, message));
    worker.on('disconnect', () => this.#listening.delete(worker));
  }

  #read(worker: Worker, { act, ack, accepted }: ClusterMessage): void {
    if (act === 'queryServer') this.#listening.add(worker);
    if (act === 'close') this.#listening.delete(worker);
    const handed = this.#handed.get(worker);
    if (ack === undefined || ack !== handed?.seq) return;
    this.#handed.delete(worker);
    // Node offers a refused connection to the next worker. Without another worker, no process would
    // ever accept it.
    if (accepted !== true && this.#listening.size === 0) handed.handle.close();
  }

  /** Call this when a worker has ended: its client sees that, and asks again. */
  closeOf(worker: Worker): void {
    this.#listening.delete(worker);
    this.#handed.get(worker)?.handle.close();
    this.#handed.delete(worker);
  }
}
