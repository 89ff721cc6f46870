/** Sends the responses that need no key: pages, the dashboard, and the health of the service. */

import type { RequestError } from '../../../info/request-error.ts';
import type { LiveState } from '../../../replica/live-state.ts';
import type { FollowerClient } from '../../../upstream/channel/follower-client.ts';
import type { PastHealth } from '../../answering/past-answers.ts';
import { NOT_FOUND, type PageRoute } from '../../message/router.ts';
import { findAsset, loadDashboard } from '../../pages/dashboard.ts';
import { type DiskReport, readHealth, type ServiceHealth } from '../../pages/health.ts';
import { formatHome } from '../../pages/home.ts';
import { formatLlms } from '../../pages/llms.ts';
import { formatOpenApi } from '../../pages/openapi.ts';
import type { HttpSettings } from '../../settings.ts';
import type { HttpExchange } from './request-stream.ts';
import { sendPage, writeHead } from './send-response.ts';

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };
const HTML = { 'Content-Type': 'text/html; charset=utf-8' };

export interface PageParts {
  readonly live: LiveState;
  readonly answers: { describePast(): PastHealth };
  /** The client that has the follower's last report; undefined without a follower. */
  readonly follower?: FollowerClient | undefined;
  /** Returns the last report about the disk of the data folder. */
  readonly readDisk?: (() => DiskReport | undefined) | undefined;
  readonly settings: Pick<HttpSettings, 'explorerUrl'>;
}

export class PageResponses {
  readonly #parts: PageParts;
  readonly #dashboard = loadDashboard();

  constructor(parts: PageParts) {
    this.#parts = parts;
  }

  /** Sends a page. Returns a refusal if no page has this name. */
  send(route: PageRoute, exchange: HttpExchange): Promise<void> | RequestError | undefined {
    const { response } = exchange;
    if (route.name === 'asset') {
      const name = `assets/${route.file}`;
      return this.#sendAsset(exchange, name) ? undefined : NOT_FOUND;
    }
    if (route.name === 'health') return this.#sendHealth(exchange);
    if (route.name === 'openapi') sendPage(response, formatOpenApi());
    else if (route.name === 'llms') sendPage(response, formatLlms(), { headers: TEXT });
    else if (!this.#sendAsset(exchange)) {
      sendPage(response, formatHome(), { headers: HTML });
    }
    return undefined;
  }

  /**
   * Sends a file of the dashboard. The default is the page itself. Returns false if no file has
   * this name.
   */
  #sendAsset({ request, response }: HttpExchange, name?: string): boolean {
    const asset = findAsset(this.#dashboard, request.headers, name);
    if (asset === undefined) return false;
    writeHead(response, asset.status, asset.headers);
    response.end(asset.body);
    return true;
  }

  async #sendHealth({ response }: HttpExchange): Promise<void> {
    const { live, answers, follower, readDisk, settings } = this.#parts;
    const { explorerUrl } = settings;
    const disk = readDisk?.();
    const health: ServiceHealth = {
      ...(await readHealth(live, follower, Date.now())),
      ...answers.describePast(),
      ...(disk === undefined ? {} : { disk }),
      ...(explorerUrl === undefined ? {} : { explorerUrl }),
    };
    const headers = {
      'Ledger-Height': health.height,
      'Ledger-Time': health.time,
      'Cache-Control': 'no-store',
    };
    const isOk = health.status === 'ok';
    sendPage(response, JSON.stringify(health), {
      status: isOk ? 200 : 503,
      headers: isOk ? headers : { ...headers, 'Retry-After': 1 },
    });
  }
}
