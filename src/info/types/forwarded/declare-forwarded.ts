/** Declares the types of questions that the upstream answers. */

import type { FieldTable } from '../../fields/field.ts';
import type { HelpGroup, UpstreamQuestionType } from '../../question-type.ts';
import type { Schema } from '../../schema.ts';
import { ORDINARY, type UpstreamCost } from '../../upstream-cost.ts';

/**
 * A type of question, with its fields, the form of its answer, and its cost if that is not
 * ordinary.
 */
type Row = readonly [
  type: string,
  fields: FieldTable,
  answer: Schema,
  summary: string,
  cost?: UpstreamCost,
];

/** The schemas have the members that we know; the upstream may add others. */
export function declareForwarded(
  group: HelpGroup,
  rows: readonly Row[],
): readonly UpstreamQuestionType[] {
  return rows.map(([type, fields, answerSchema, summary, upstreamCost = ORDINARY]) => ({
    ...{ source: 'upstream', type, group, summary, weight: upstreamCost.weight, upstreamCost },
    ...{ fields, answerSchema },
  }));
}
