/** Writes the state of the page into the address bar of the browser. */

import { formatUrlState, type UrlState } from './url-state.ts';

/** Shows the state in the address bar. If `isStep`, the Back button leads back to the state before. */
export function updateUrl(state: UrlState, isStep: boolean): void {
  const fragment = formatUrlState(state);
  if (fragment === location.hash) return;
  const address = location.pathname + location.search + fragment;
  if (isStep) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}
