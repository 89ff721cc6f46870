/** The vectors and the simulator between them must exercise every branch that an answer has. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { EVENT_TYPES, parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { FIRST_ACCOUNT } from '../../src/state/addresses.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { VECTORS } from '../../tools/harness/paths.ts';
import { NOT_SIMULATED } from '../simulator/not-simulated.ts';

const SIMULATED_BLOCKS = 600;
const ANSWER_EVERY_BLOCKS = 50;

/** Everything that was met, each branch under a name of its own. */
const met = new Set<string>();

interface AnsweredPosition {
  coin: string;
  szi: string;
  leverage: { type: string };
  maxLeverage: number;
  liquidationPx: string | null;
}

function meetPosition(state: StateView, position: AnsweredPosition): void {
  const { coin, szi, leverage, maxLeverage, liquidationPx } = position;
  const market = state.markets.markets.find((candidate) => candidate.coin === coin);
  assert.ok(market);
  met.add(`mode ${leverage.type}`);
  met.add(szi.startsWith('-') ? 'side short' : 'side long');
  met.add(liquidationPx === null ? 'liquidation null' : 'liquidation price');
  met.add(maxLeverage === market.tiers[0].maxLeverage ? 'tier first' : 'tier further');
}

function meetAnswers(state: StateView): void {
  for (let row = 1; row < state.addresses.table.rowCount; row++) {
    if (state.addresses.table.get(row, FIRST_ACCOUNT) === 0) continue;
    const user = formatAddress(state.addresses.addressOf(row));
    for (const { name: dex } of state.markets.dexes) {
      const answer = answerQuestion(state, { type: 'clearinghouseState', user, dex });
      for (const { position } of JSON.parse(answer).assetPositions) meetPosition(state, position);
    }
  }
}

function meetEvents(line: string): void {
  for (const { type } of parseBlock(line).events) met.add(`event ${type}`);
}

test('the vectors and the simulator exercise every event that is theirs, and every branch of an answer', () => {
  met.clear();
  for (const file of readdirSync(VECTORS)) {
    const line = JSON.stringify(JSON.parse(readFileSync(path.join(VECTORS, file), 'utf8')).block);
    const state = createState();
    meetEvents(line);
    applyBlock(state, parseBlock(line));
    meetAnswers(state);
  }
  const simulator = createSimulator({ seed: 'coverage', accounts: 50 });
  for (let block = 1; block <= SIMULATED_BLOCKS; block++) {
    meetEvents(simulator.next());
    if (block % ANSWER_EVERY_BLOCKS === 0) meetAnswers(simulator.state);
  }
  const wanted = [
    ...EVENT_TYPES.filter((type) => !NOT_SIMULATED.includes(type)).map((type) => `event ${type}`),
    ...['mode cross', 'mode isolated', 'side long', 'side short', 'tier first', 'tier further'],
    ...['liquidation null', 'liquidation price'],
  ];
  assert.deepEqual([...met].sort(), wanted.sort());
  assert.equal(EVENT_TYPES.length, 24);
});
