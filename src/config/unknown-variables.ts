/** Finds environment variables that look like settings, but are not settings. */

import { findLikelyName } from './likely-name.ts';
import { type Setting, variablesOf } from './setting.ts';

const PREFIX = 'PERPINFO_';

/**
 * True if Kubernetes set the variable. Kubernetes sets variables in each container, for each
 * service of the cluster. If a service is named perpinfo or perpinfo-NAME, the names of these
 * variables begin with our prefix. A name such as PERPINFO_PORT is also one of our settings, so its
 * value decides.
 */
const INJECTED_NAME =
  /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const INJECTED_ADDRESS = /^(tcp|udp|sctp):\/\//;

export function isInjected(name: string, value: string): boolean {
  return INJECTED_NAME.test(name) || (name.endsWith('_PORT') && INJECTED_ADDRESS.test(value));
}

/** Returns a warning about each variable that has our prefix, but belongs to no setting. */
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

/**
 * Returns the warning about a variable. The warning never contains the value, because the value may
 * be a secret under a misspelt name.
 */
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
