/** Reads the weights that the upstream charges from the settings. */

import { UsageError } from '../../config/usage-error.ts';
import { QUESTION_TYPES } from '../../info/question-types.ts';
import { OTHER_QUESTIONS, PUBLIC_WEIGHTS, UpstreamWeights } from '../../info/upstream-weights.ts';
import type { FollowSettings } from '../settings.ts';

/**
 * Returns the weights. Throws a UsageError if a weight would have no effect, or if it is over the
 * budget, so that its question could never be asked.
 */
export function weightsOf({
  upstreamWeights: given,
  followBudget,
}: Pick<FollowSettings, 'upstreamWeights' | 'followBudget'>): UpstreamWeights {
  if (given === undefined) return PUBLIC_WEIGHTS;
  const questions = QUESTION_TYPES.map(({ type }) => type);
  for (const [name, weight] of given) {
    if (name !== OTHER_QUESTIONS && !questions.includes(name))
      refuse(`got ${name}, expected the type of a question, or ${OTHER_QUESTIONS}`);
    if (weight > followBudget)
      refuse(`got ${name}=${weight}, expected at most the ${followBudget} of --follow-budget`);
  }
  return new UpstreamWeights(given);
}

function refuse(problem: string): never {
  throw new UsageError([`--upstream-weights: ${problem}`]);
}
