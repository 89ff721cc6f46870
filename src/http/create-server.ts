/** Creates the HTTP server and connects its transports: the fast lane, Node's server and push. */

import type { IncomingMessage, RequestListener, ServerOptions } from 'node:http';
import type { Logger } from 'pino';
import type { LiveState } from '../replica/live-state.ts';
import type { FollowerClient } from '../upstream/channel/follower-client.ts';
import type { Answers } from './answering/answers.ts';
import type { Counters } from './answering/counters.ts';
import type { DiskReport } from './pages/health.ts';
import type { Push } from './push/push.ts';
import type { HttpSettings } from './settings.ts';
import { connectionsMaxOf } from './transport/connections/file-descriptors.ts';
import { headerMsMax, stalledMsMax, TIMEOUT_CHECK_MS } from './transport/connections/timeouts.ts';
import { UnfinishedBytes } from './transport/connections/unfinished-bytes.ts';
import { InfoServer } from './transport/node/info-server.ts';
import { RequestHandler } from './transport/node/request-handler.ts';
import { asRequestStream } from './transport/node/request-stream.ts';
import { UpgradesAndErrors } from './transport/node/upgrades-and-errors.ts';
import { offersPush } from './transport/websocket/handshake.ts';

export interface ServerParts {
  readonly live: LiveState;
  readonly answers: Answers;
  readonly push: Push;
  readonly counters: Counters;
  /** The client that has the follower's last report; undefined without a follower. */
  readonly follower?: FollowerClient | undefined;
  /** Returns the last report about the disk of the data folder; undefined without a data folder. */
  readonly readDisk?: (() => DiskReport | undefined) | undefined;
  readonly log: Logger;
  readonly settings: HttpSettings;
}

/**
 * The option of Node 24.9 and later with which a server chooses the requests to upgrade. Node
 * serves the other requests as ordinary requests. Earlier versions ignore this option and emit
 * `upgrade` for every Upgrade header (upgrades-and-errors.ts).
 */
interface UpgradeOptions {
  readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean;
}

function serverOptions(settings: ServerParts['settings']): ServerOptions & UpgradeOptions {
  return {
    maxHeaderSize: settings.headerBytesMax,
    headersTimeout: headerMsMax(settings),
    requestTimeout: settings.requestTimeout,
    keepAliveTimeout: settings.idleTimeout,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    // A request without a Host is refused by our own code, because Node's error has no body.
    requireHostHeader: false,
    shouldUpgradeCallback: offersPush,
  };
}

/** Creates the server. The caller makes the server listen. */
export function createInfoServer(parts: ServerParts): InfoServer {
  const { settings, counters, log } = parts;
  const unfinished = new UnfinishedBytes(settings);
  const handler = new RequestHandler({ ...parts, unfinished });
  const listener: RequestListener = (request, response) => handler.handle({ request, response });
  const countMax = connectionsMaxOf(settings.connectionsMax, log);
  const server = new InfoServer({
    options: serverOptions(settings),
    listener,
    connections: { countMax, counters, log },
    lane: settings.noFastLane ? undefined : { ...parts, unfinished },
    unfinished,
  });
  // The number of headers is unlimited, because Node drops headers over the limit silently.
  // headerBytesMax limits the total length of the headers.
  server.http.maxHeadersCount = 0;
  server.http.timeout = stalledMsMax(settings);
  server.http.on('checkContinue', listener);
  server.http.on('checkExpectation', listener);
  handleUpgradesAndErrors(server, parts);
  return server;
}

function handleUpgradesAndErrors(server: InfoServer, parts: ServerParts): void {
  const upgradesAndErrors = new UpgradesAndErrors(parts, (client, bytes) =>
    server.passToNode(client, bytes),
  );
  server.http.on('clientError', (error, stream) => {
    upgradesAndErrors.sendClientError(error, asRequestStream(stream));
  });
  // Newer versions of Node pass a wrapper around the request's stream, so the stream is taken from
  // the request.
  server.http.on('upgrade', (request, _stream, head) => {
    upgradesAndErrors.upgrade(request, asRequestStream(request.socket), head);
  });
  server.http.on('connect', ({ socket }) =>
    upgradesAndErrors.sendTunnelRefusal(asRequestStream(socket)),
  );
}
