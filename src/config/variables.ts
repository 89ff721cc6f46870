/** Environment variables that look like settings, and are none. */

import { findLikelyName } from './likely-name.ts';
import { SETTINGS } from './settings.ts';

const PREFIX = 'PERPINFO_';
const KNOWN: readonly string[] = Object.values(SETTINGS).flatMap(({ variable, file }) =>
  file === undefined ? [variable] : [variable, file.variable],
);
const KNOWN_ENDS = KNOWN.map((variable) => variable.slice(PREFIX.length));

/**
 * A cluster sets these in each container, about each of its services. One that is named perpinfo, or
 * perpinfo-NAME, gives names that begin as ours do; the last of them may be those of our own ports.
 */
const INJECTED_NAME =
  /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const INJECTED_ADDRESS = /^(tcp|udp|sctp):\/\//;

export function isInjected(name: string, value: string): boolean {
  return INJECTED_NAME.test(name) || (name.endsWith('_PORT') && INJECTED_ADDRESS.test(value));
}

/** A sentence about each variable that has our prefix, and that nothing reads. */
export function findUnknownVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (!name.startsWith(PREFIX) || KNOWN.includes(name) || isInjected(name, value)) return [];
    return [describeUnknown(name)];
  });
}

/** Never shows the value: it may be a secret under a misspelt name. */
function describeUnknown(name: string): string {
  const shown = JSON.stringify(name.slice(0, 60)).slice(1, -1);
  const likely = findLikelyName(name.slice(PREFIX.length).toUpperCase(), KNOWN_ENDS);
  const advice =
    likely === undefined
      ? 'docs/reference/settings.md lists all'
      : `did you mean ${PREFIX}${likely}?`;
  return `the variable ${shown} is ignored, it is no setting: ${advice}`;
}
