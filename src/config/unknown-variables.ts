/** Environment variables that look like settings, but are not. */

import { findLikelyName } from './likely-name.ts';
import { type Setting, variablesOf } from './setting.ts';

const PREFIX = 'PERPINFO_';

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

/** A sentence about each variable that has our prefix, and belongs to none of the settings. */
export function findUnknownVariables(
  settings: readonly Setting[],
  environment: NodeJS.ProcessEnv = process.env,
): string[] {
  const known = settings.flatMap(variablesOf);
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (!name.startsWith(PREFIX) || known.includes(name) || isInjected(name, value)) return [];
    return [describeUnknown(name, known)];
  });
}

/** Never shows the value: the value may be a secret under a misspelt name. */
function describeUnknown(name: string, known: readonly string[]): string {
  const shown = JSON.stringify(name.slice(0, 60)).slice(1, -1);
  const knownEnds = known.map((variable) => variable.slice(PREFIX.length));
  const likely = findLikelyName(name.slice(PREFIX.length).toUpperCase(), knownEnds);
  const advice =
    likely === undefined
      ? 'docs/reference/settings.md lists all'
      : `did you mean ${PREFIX}${likely}?`;
  return `the variable ${shown} is ignored, because no setting has this name: ${advice}`;
}
