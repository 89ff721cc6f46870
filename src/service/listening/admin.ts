/**
 * The admin port, separate from the public port: it serves metrics, and saves snapshots on request.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';
import { listen } from './listen.ts';

export interface AdminServer {
  readonly port: number;
  close(): void;
}

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  /** The metrics in Prometheus' text format. */
  metrics(): Promise<string>;
  /** Saves a snapshot of the state that the service answers from. */
  saveSnapshot(): Promise<SavedSnapshot>;
}

/** A POST to this path saves a snapshot. */
export const SNAPSHOT_PATH = '/snapshot';
/**
 * Maximum number of connections; further connections are closed. The limit is low because only one
 * or two programs read the metrics.
 */
const CONNECTIONS_MAX = 64;
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

interface AdminAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const answers = new AdminAnswers(options);
  const server: Server = createServer(async (request, response) => {
    const { status, type, text } = await answers.answer(request);
    response.writeHead(status, { 'Content-Type': type }).end(text);
  });
  server.maxConnections = CONNECTIONS_MAX;
  return {
    port: await listen(server, options.port, options.host),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

class AdminAnswers {
  readonly #options: AdminOptions;
  /**
   * The snapshot that is being saved. All requests that arrive during the save get the same answer.
   */
  #saving: Promise<SavedSnapshot> | undefined;

  constructor(options: AdminOptions) {
    this.#options = options;
  }

  /** Answers one request. Never rejects. */
  answer({ method, url, headers }: IncomingMessage): Promise<AdminAnswer> | AdminAnswer {
    if (method === 'GET' && url === '/metrics') return this.#metrics();
    if (method !== 'POST' || url !== SNAPSHOT_PATH) {
      return { status: 404, type: TEXT_TYPE, text: `GET /metrics\nPOST ${SNAPSHOT_PATH}\n` };
    }
    // Only a page in a browser sends an Origin header, and our page never sends this request.
    if (headers.origin !== undefined) {
      return { status: 403, type: TEXT_TYPE, text: 'not from a page\n' };
    }
    return this.#snapshot();
  }

  async #metrics(): Promise<AdminAnswer> {
    try {
      return { status: 200, type: METRICS_TYPE, text: await this.#options.metrics() };
    } catch {
      // A worker that restarts may not answer in time.
      return { status: 503, type: TEXT_TYPE, text: 'try again\n' };
    }
  }

  async #snapshot(): Promise<AdminAnswer> {
    try {
      this.#saving ??= this.#options.saveSnapshot().finally(() => {
        this.#saving = undefined;
      });
      const saved = await this.#saving;
      return { status: 200, type: 'application/json', text: `${JSON.stringify(saved)}\n` };
    } catch (error) {
      return { status: 503, type: TEXT_TYPE, text: `${(error as Error).message}\n` };
    }
  }
}
