/**
 * Opens the channel between the follower and the processes that answer questions: a socket in the
 * ledger's folder, or NATS.
 */

import { natsOptionsOf } from '../../ledger/location.ts';
import type { StorageSettings } from '../../ledger/settings.ts';
import { ChannelClient } from './channel-client.ts';
import type { FollowerClient, FollowerHandler, FollowerServer } from './follower-client.ts';
import { LazyChannel } from './lazy-channel.ts';
import { listenOnNats, openNatsChannel } from './nats/nats-channel.ts';
import { SocketChannel } from './socket/socket-channel.ts';
import { listenOnFollowerSocket } from './socket/socket-server.ts';

/**
 * Creates the client for a process that answers questions. The client connects at its first use.
 */
export function createFollowerClient(settings: StorageSettings): FollowerClient {
  const nats = natsOptionsOf(settings);
  return new ChannelClient(
    nats === undefined
      ? new SocketChannel(settings.data)
      : // A question does not wait for a connection: the next question connects again.
        new LazyChannel(() => openNatsChannel({ ...nats, waitMs: 0 })),
  );
}

/** Opens the follower's side of the channel. The folder of an embedded ledger must exist. */
export function listenForClients(
  settings: StorageSettings,
  handler: FollowerHandler,
): Promise<FollowerServer> {
  const nats = natsOptionsOf(settings);
  return nats === undefined
    ? listenOnFollowerSocket(settings.data, handler)
    : listenOnNats(nats, handler);
}
