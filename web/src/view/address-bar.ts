/** The address bar of the browser, which names what is shown. */

import { formatPlace, type Place } from './place.ts';

/** Puts a place into the address; a new account is a step that Back takes back. */
export function showPlace(place: Place, isStep: boolean): void {
  const fragment = formatPlace(place);
  if (fragment === location.hash) return;
  const address = location.pathname + location.search + fragment;
  if (isStep) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}
