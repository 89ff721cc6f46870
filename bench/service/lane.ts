/**
 * Measures the processor time of requests that are not whole POSTs, as a ratio to the time of a
 * whole POST in the same run:
 *
 *   npm run bench:lane                    about two minutes
 *   npm run bench:lane -- --quick         a trial run
 *   npm run bench:lane -- --beside DIR    also each kind as a ratio to the build in DIR/dist/main.js
 */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { runBench } from '../frame/frame.ts';
import { atMost, type Goal } from '../frame/report.ts';
import { buildExchange, type Exchange, PATIENCE } from '../servers/exchange.ts';
import { type RunningServer, startPerpinfo } from '../servers/servers.ts';
import { APART, costRatios, findRow, GET, measureKinds, printRows, WHOLE } from './requests.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, beside: { type: 'string' } },
});

const ACCOUNTS = 2000;
const FULL = { rounds: 11, roundSeconds: 2, warmUpSeconds: 4 };
const QUICK = { rounds: 3, roundSeconds: 1, warmUpSeconds: 1 };
const KINDS = [WHOLE, GET, APART];
const GET_MAX = 1.2;
const APART_MAX = 1.35;
/** The maximum ratio to the other build. It allows for the differences between rounds. */
const BESIDE_MAX = 1.03;

async function measure(exchange: Exchange, servers: readonly RunningServer[]): Promise<Goal[]> {
  const rows = await measureKinds(exchange, servers, values.quick ? QUICK : FULL, KINDS);
  const [own, other] = servers.map((server) => rows.filter((row) => row.server === server));
  printRows(own);
  const ratios = (name: string) => costRatios(findRow(own, name), findRow(own, WHOLE));
  const goals = [
    atMost(`processor time, ${GET} / ${WHOLE}`, GET_MAX, ratios(GET)),
    atMost(`processor time, ${APART} / ${WHOLE}`, APART_MAX, ratios(APART)),
  ];
  if (other === undefined) return goals;
  printRows(other);
  const beside = own.map((row, index) =>
    atMost(`${row.kind.name} / of the other build`, BESIDE_MAX, costRatios(row, other[index])),
  );
  return [...goals, ...beside];
}

await runBench(async (bench) => {
  const { folder } = bench;
  const exchange = await buildExchange(folder, ACCOUNTS);
  const choice = { workers: 1, flags: PATIENCE };
  const servers = [await bench.keep(startPerpinfo(folder, choice))];
  if (values.beside !== undefined) {
    const main = path.join(values.beside, 'dist/main.js');
    servers.push(await bench.keep(startPerpinfo(folder, { ...choice, main })));
  }
  return measure(exchange, servers);
});
