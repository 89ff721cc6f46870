/** The port within one process: client and follower side by side. */

import { PortClient } from '../../../src/upstream/channel/port-client.ts';
import type {
  ForwardOutcome,
  WantedClient,
  WantedHandler,
  WantedOutcome,
} from '../../../src/upstream/channel/wanted.ts';
import { handleRequest } from '../../../src/upstream/channel/wanted-messages.ts';

export function connectInProcess(handler: WantedHandler): WantedClient {
  return new PortClient({
    want: (want, maxAgeMs, keyId) =>
      handleRequest(handler, { want, maxAgeMs, keyId }) as Promise<WantedOutcome>,
    forward: (forward, keyId) =>
      handleRequest(handler, { forward, keyId }) as Promise<ForwardOutcome>,
    sendInterest: (interests) => handler.noteInterest(interests),
    status: () => handler.status(),
    close: async () => undefined,
  });
}
