/**
 * Draws random plans of faults for seeded runs: several faults at a time, each of them frequent or
 * rare.
 */

import type { Random } from '../../src/simulator/random.ts';
import { ANSWER_FAULTS, type AnswerFault, type FaultPlan, PUSH_FAULTS } from './faults.ts';

const PUSH_CHANCE = 0.2;
const STRANGE_COIN_CHANCE = 0.15;
const OTHER_LISTS_CHANCE = 0.2;
const GONE_CHANCE = 0.08;
/** The minimum share of requests that get a right answer. */
const RIGHT_SHARE_MIN = 0.1;

export function drawPlan(random: Random): FaultPlan {
  return {
    answers: drawAnswers(random),
    push: PUSH_FAULTS.filter(() => random.chance(PUSH_CHANCE)),
    strangeCoin: random.chance(STRANGE_COIN_CHANCE),
    otherLists: random.chance(OTHER_LISTS_CHANCE),
    gone: random.chance(GONE_CHANCE),
  };
}

function drawAnswers(random: Random): Partial<Record<AnswerFault, number>> {
  const count = 1 + random.below(4);
  const shareMax = (1 - RIGHT_SHARE_MIN) / count;
  const shares: Partial<Record<AnswerFault, number>> = {};
  for (let index = 0; index < count; index++) {
    shares[random.pick(ANSWER_FAULTS)] = random.between(0.02, shareMax);
  }
  return shares;
}
