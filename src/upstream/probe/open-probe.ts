/**
 * Runs a probe of a server with the given settings: opens the connections, and returns the report
 * without secrets.
 */

import { formatAddress } from '../../exact/address.ts';
import { SYSTEM_CLOCK } from '../client/limits/clock.ts';
import { PING_RESERVE, UpstreamPush } from '../client/push/upstream-push.ts';
import { readUpstreamAddress } from '../client/upstream-address.ts';
import { openUpstreamHttp } from '../client/upstream-http.ts';
import { mapTexts } from '../follower/map-texts.ts';
import { requestHeadersOf } from '../follower/request-headers.ts';
import type { ProbeSettings } from '../settings.ts';
import { maskAddresses } from './mask-addresses.ts';
import { Probe } from './probe.ts';
import { ProbeClient } from './probe-client.ts';
import { ProbeMarkets } from './probe-markets.ts';
import { ProbePush } from './probe-push.ts';
import type { ProbeReport } from './probe-report.ts';

/** The weight per minute: a twelfth of the limit of the exchange's public server. */
export const PROBE_BUDGET = 100;
const DEADLINE_MS = 10_000;
const BODY_BYTES_MAX = 8 << 20;
/** The maximum number of messages in a minute, without pings. */
const MESSAGES_MAX = 50;
const PUSH_LIMITS = {
  usersMax: 1,
  subscriptionsMax: 10,
  messagesMax: PING_RESERVE + MESSAGES_MAX,
};
const QUIET_LOG = { info: () => undefined, warn: () => undefined };

export interface ProbeRun {
  readonly settings: Omit<ProbeSettings, 'probeJson'>;
  readonly budget: number;
  readonly signal: AbortSignal;
  progress(text: string): void;
}

export async function probeServer(run: ProbeRun): Promise<ProbeReport> {
  const { upstream: url, upstreamHeader, probedUser: user, probeTime, showUser } = run.settings;
  const address = readUpstreamAddress(url, upstreamHeader?.value);
  const headers = requestHeadersOf(upstreamHeader);
  const shared = { clock: SYSTEM_CLOCK, wallMs: () => Date.now(), budget: run.budget };
  const limits = { deadlineMs: DEADLINE_MS, bodyBytesMax: BODY_BYTES_MAX, connections: 1 };
  const http = await openUpstreamHttp({ ...shared, ...limits, address, headers });
  const markets = new ProbeMarkets();
  const push = new ProbePush({ ...shared, directory: () => markets.directory });
  const options = { address, headers, limits: PUSH_LIMITS, handler: push, log: QUIET_LOG };
  const connection = new UpstreamPush(options);
  try {
    const probe = new Probe({
      ...shared,
      program: headers['user-agent'],
      origin: address.origin,
      ...{ user, markets, push, durationMs: probeTime },
      client: new ProbeClient({ ...shared, http, address }),
      subscribe: (wanted) => connection.subscribe(wanted),
      progress: run.progress,
    });
    const report = mapTexts(await probe.run(run.signal), (text) => address.redact(text));
    if (showUser || user === undefined) return report;
    return mapTexts(report, (text) => maskAddresses(text, formatAddress(user)));
  } finally {
    connection.close();
    await http.close();
  }
}
