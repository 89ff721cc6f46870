/** Opens the port, which is beside the ledger: in its folder, or on NATS. */

import { natsOptionsOf } from '../../ledger/location.ts';
import type { StorageSettings } from '../../ledger/settings.ts';
import { LazyChannel } from './lazy-channel.ts';
import { listenOnNats, openNatsChannel } from './nats/nats-wanted.ts';
import { PortClient } from './port-client.ts';
import { SocketChannel } from './socket/socket-channel.ts';
import { listenOnWantedSocket } from './socket/socket-server.ts';
import type { WantedClient, WantedHandler, WantedServer } from './wanted.ts';

/** For a process that answers; connects when it is first used. */
export function createWantedClient(settings: StorageSettings): WantedClient {
  const nats = natsOptionsOf(settings);
  return new PortClient(
    nats === undefined
      ? new SocketChannel(settings.data)
      : // A question waits for less: it is the next one that connects again.
        new LazyChannel(() => openNatsChannel({ ...nats, waitMs: 0 })),
  );
}

/** For the follower; the folder of an embedded ledger must exist. */
export function listenForWanted(
  settings: StorageSettings,
  handler: WantedHandler,
): Promise<WantedServer> {
  const nats = natsOptionsOf(settings);
  return nats === undefined
    ? listenOnWantedSocket(settings.data, handler)
    : listenOnNats(nats, handler);
}
