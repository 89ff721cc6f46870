/** The port within one process: client and follower side by side. */

import { PortClient } from '../../src/wanted/port-client.ts';
import type {
  ForwardOutcome,
  WantedClient,
  WantedHandler,
  WantedOutcome,
} from '../../src/wanted/wanted.ts';
import { handleRequest } from '../../src/wanted/wanted-messages.ts';

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
