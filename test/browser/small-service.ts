/** A service on the small ledger, with a key of its own. */

import {
  type Cleanup,
  createKey,
  makeLedger,
  type RunningService,
  startService,
} from '../../tools/harness/running.ts';
import { firstBlock, type Held, USER } from './small-ledger.ts';

interface SmallService {
  readonly data: string;
  readonly secret: string;
  readonly origin: string;
  readonly service: RunningService;
  /** The page with key and user in its fragment. */
  readonly url: string;
}

interface SmallServiceOptions {
  readonly data: string;
  readonly holdings?: readonly Held[];
  /** Of the first block; now if it does not matter. */
  readonly time?: number;
  /** Further events of the first block. */
  readonly events?: readonly object[];
  readonly flags?: readonly string[];
  /** Where the tests of a file take longer than most: after so long the service is killed. */
  readonly runMsMax?: number;
}

export async function serveSmall(
  context: Cleanup,
  { data, holdings, time = Date.now(), events = [], flags = [], ...limits }: SmallServiceOptions,
): Promise<SmallService> {
  await makeLedger(data, [firstBlock({ time, events, ...(holdings && { holdings }) })]);
  // Before the service starts, so that it knows the key when the page asks.
  const { secret } = await createKey(data);
  const service = await startService(context, {
    ...limits,
    ...{ data, flags: ['--max-age', '0', ...flags] },
  });
  const origin = `http://127.0.0.1:${service.port}`;
  return { data, secret, origin, service, url: `${origin}/#key=${secret}&users=${USER}` };
}
