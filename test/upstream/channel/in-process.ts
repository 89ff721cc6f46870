/** The port within one process: client and follower side by side. */

import { ChannelClient } from '../../../src/upstream/channel/channel-client.ts';
import { handleRequest } from '../../../src/upstream/channel/channel-messages.ts';
import type {
  FollowerClient,
  FollowerHandler,
  ForwardOutcome,
  ItemOutcome,
} from '../../../src/upstream/channel/follower-client.ts';

export function connectInProcess(handler: FollowerHandler): FollowerClient {
  return new ChannelClient({
    readItem: (want, maxAgeMs, keyId) =>
      handleRequest(handler, { want, maxAgeMs, keyId }) as Promise<ItemOutcome>,
    forward: (forward, keyId) =>
      handleRequest(handler, { forward, keyId }) as Promise<ForwardOutcome>,
    sendInterest: (interests) => handler.noteInterest(interests),
    status: () => handler.status(),
    close: async () => undefined,
  });
}
