/**
 * The connections that the supervisor has sent to a worker and that no worker has accepted yet.
 * There is at most one of these connections for each worker. Node forgets the connection if the
 * worker dies, or if the last listening worker refuses the connection. Without this class, the
 * connection would then stay open, and no process would answer it.
 */

import type { Worker } from 'node:cluster';

/** The fields of Node's internal messages between supervisor and worker that are read here. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  /** The `seq` of the message that this message answers. */
  readonly ack?: unknown;
  /** True if the worker has accepted the connection that it received. */
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

/** This class assumes that workers listen on only one port. */
export class HandedConnections {
  readonly #handed = new Map<Worker, Handed>();
  /** The workers to which the supervisor sends connections. */
  readonly #listening = new Set<Worker>();

  /** Call this function with every worker, immediately after the worker is started. */
  watch(worker: Worker): void {
    const { process: child } = worker;
    const send = child.send.bind(child) as Send;
    child.send = ((message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => {
      const { act, seq } = message;
      if (act === 'newconn' && handle !== undefined) this.#handed.set(worker, { seq, handle });
      return send(message, handle, ...rest);
    }) as typeof child.send;
    // Node handles each message before this listener does.
    child.on('internalMessage', (message: ClusterMessage) => this.#read(worker, message));
    worker.on('disconnect', () => this.#listening.delete(worker));
  }

  #read(worker: Worker, { act, ack, accepted }: ClusterMessage): void {
    if (act === 'queryServer') this.#listening.add(worker);
    if (act === 'close') this.#listening.delete(worker);
    const handed = this.#handed.get(worker);
    if (ack === undefined || ack !== handed?.seq) return;
    this.#handed.delete(worker);
    // Node offers a refused connection to the next worker. If no worker listens, no process would
    // ever accept the connection.
    if (accepted !== true && this.#listening.size === 0) handed.handle.close();
  }

  /**
   * Call this function when a worker has ended. The client then sees that its connection is closed,
   * and sends its request again.
   */
  closeOf(worker: Worker): void {
    this.#listening.delete(worker);
    this.#handed.get(worker)?.handle.close();
    this.#handed.delete(worker);
  }
}
