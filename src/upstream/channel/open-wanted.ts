/**
 * Opens the channel between the processes that answer and the follower: a socket in the ledger's
 * folder, or NATS.
 */

import { natsOptionsOf } from '../../ledger/location.ts';
import type { StorageSettings } from '../../ledger/settings.ts';
import { LazyChannel } from './lazy-channel.ts';
import { listenOnNats, openNatsChannel } from './nats/nats-wanted.ts';
import { PortClient } from './port-client.ts';
import { SocketChannel } from './socket/socket-channel.ts';
import { listenOnWantedSocket } from './socket/socket-server.ts';
import type { WantedClient, WantedHandler, WantedServer } from './wanted.ts';

/** For a process that answers questions. The client connects at its first use. */
export function createWantedClient(settings: StorageSettings): WantedClient {
  const nats = natsOptionsOf(settings);
  return new PortClient(
    nats === undefined
      ? new SocketChannel(settings.data)
      : // A question does not wait for a connection: the next question connects again.
        new LazyChannel(() => openNatsChannel({ ...nats, waitMs: 0 })),
  );
}

/** For the follower. The folder of an embedded ledger must exist. */
export function listenForWanted(
  settings: StorageSettings,
  handler: WantedHandler,
): Promise<WantedServer> {
  const nats = natsOptionsOf(settings);
  return nats === undefined
    ? listenOnWantedSocket(settings.data, handler)
    : listenOnNats(nats, handler);
}
