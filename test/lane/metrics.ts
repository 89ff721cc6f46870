/** What a service has counted of its requests. */

import type { Registry } from 'prom-client';

const COUNTED =
  /^perpinfo_(requests_total|request_seconds|budget_refusals|internal_failures|push)\w*/;

/** The lines of the metrics that depend on what was asked, in an order of their own. */
export async function metricsOf({ registry }: { registry: Registry }): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => COUNTED.test(line)).sort();
}
