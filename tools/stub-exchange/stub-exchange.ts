/**
 * The stub exchange: a separate program, which speaks the dialect of a live exchange over HTTP and
 * WebSocket. It is not a test; tests start it.
 *
 *   node stub-exchange.js OPTIONS
 *
 * OPTIONS are `StubOptions` as JSON. The program prints {"port", "controlPort"} when it listens,
 * and ends on SIGTERM.
 */

import { Random } from '../../src/simulator/random.ts';
import { DialectAnswers } from './dialect-answers.ts';
import { Exchange } from './exchange.ts';
import { Faults } from './faults.ts';
import { ServedAnswers } from './served-answers.ts';
import { ServedWeight } from './served-weight.ts';
import { StubControl } from './stub-control.ts';
import { StubInfoServer } from './stub-info-server.ts';
import type { StubOptions } from './stub-options.ts';
import { StubPushServer } from './stub-push-server.ts';

const options = JSON.parse(process.argv[2]) as StubOptions;
const { speed, limit, push: limits, pushTypes: types } = options;
const minuteMs = 60_000 / speed;
const closingMs = 1000 / speed;
const exchange = new Exchange(options);
const answers = new DialectAnswers(options);
let weight = new ServedWeight(minuteMs);
const served = new ServedAnswers();
const random = new Random(`${options.seed}/faults`);
const faults = new Faults(random);
const parts = { exchange, answers, faults, random };
const info = new StubInfoServer({ ...parts, served, limit, speed }, weight);
const push = new StubPushServer({ ...parts, limits, types, minuteMs });
push.attach(info.server);

function makeBlocks(count: number): number {
  for (let index = 0; index < count; index++) push.publish(exchange.step());
  return exchange.state.time;
}

function report(): object {
  const { windowMax, total, countByType } = weight;
  return {
    height: exchange.state.height,
    time: exchange.state.time,
    weight: { windowMax, total, countByType, refused: info.refused },
    push: { ...push.report, refusals: push.refusals },
    faults: faults.served,
  };
}

const control = new StubControl({
  report,
  step: ({ count = 1 }) => makeBlocks(count),
  faults: async (plan) => {
    faults.plan = plan;
    answers.hasStrangeCoin = plan.strangeCoin ?? false;
    answers.markets.hasOtherLists = plan.otherLists ?? false;
    await info.setGone(plan.gone ?? false);
  },
  /** Counts from 0 again, for another client with a separate budget. */
  forget: () => {
    weight = new ServedWeight(minuteMs);
    info.count(weight);
  },
  fix: ({ question, answer }) => served.fix(question, answer),
  served: ({ question }) => served.list(question),
});

const blocks =
  options.intervalMs === 0 ? undefined : setInterval(makeBlocks, options.intervalMs, 1);
const closing = setInterval(() => {
  if (!faults.has('closing')) return;
  faults.count('closing');
  push.disconnect();
}, closingMs);

process.once('SIGTERM', () => {
  clearInterval(blocks);
  clearInterval(closing);
  push.close();
  info.close();
  control.close();
  exchange.close();
});

const port = await info.listen(options.port);
const controlPort = await control.listen(options.controlPort);
process.stdout.write(`${JSON.stringify({ port, controlPort })}\n`);
