/** The options of the stub's program: one argument, as JSON. */

import type { ExchangeOptions } from './exchange.ts';
import { SUBSCRIPTION_TYPES } from './push-messages.ts';
import type { PushLimits } from './stub-push-server.ts';

export interface StubOptions extends ExchangeOptions {
  readonly port: number;
  readonly controlPort: number;
  /** Milliseconds of this machine between blocks; 0 if blocks are made only on command. */
  readonly intervalMs: number;
  /** The maximum weight in 60 s; 0 for no limit. */
  readonly limit: number;
  readonly unknownTypes: readonly string[];
  readonly push: PushLimits;
  readonly pushTypes: readonly string[];
}

/** The options that a test need not choose. */
export const STUB_DEFAULTS = {
  seed: 'stub',
  accounts: 40,
  speed: 1,
  lagMs: 2000,
  isSimulated: true,
  port: 0,
  controlPort: 0,
  intervalMs: 100,
  limit: 1200,
  unknownTypes: [],
  push: {
    connections: 10,
    newConnectionsPerMinute: 30,
    users: 10,
    subscriptions: 1000,
    messagesPerMinute: 2000,
  },
  pushTypes: SUBSCRIPTION_TYPES,
} as const satisfies Partial<StubOptions>;
