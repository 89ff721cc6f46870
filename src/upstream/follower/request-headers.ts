/** The headers of each request to the upstream, including the handshake of the push connection. */

import { readPackageVersion } from '../../config/package-version.ts';
import type { FollowSettings } from '../settings.ts';

/**
 * Returns the headers. By default, the user-agent shows the operator of the server that perpinfo
 * sends the requests. A header of the settings replaces our header of the same name.
 */
export function requestHeadersOf(
  header: FollowSettings['upstreamHeader'],
): Readonly<Record<string, string>> {
  const headers = { 'user-agent': `perpinfo/${readPackageVersion()}` };
  return header === undefined ? headers : { ...headers, [header.name.toLowerCase()]: header.value };
}
