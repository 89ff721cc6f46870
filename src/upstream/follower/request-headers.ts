/** The headers of each request to the upstream, the handshake of the push connection included. */

import { readPackageVersion } from '../../config/package-version.ts';
import type { FollowSettings } from '../settings.ts';

/** The operator of a server can see who asks; a header of the settings comes instead of ours. */
export function requestHeadersOf(
  header: FollowSettings['upstreamHeader'],
): Readonly<Record<string, string>> {
  const headers = { 'user-agent': `perpinfo/${readPackageVersion()}` };
  return header === undefined ? headers : { ...headers, [header.name.toLowerCase()]: header.value };
}
