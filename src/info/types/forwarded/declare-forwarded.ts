/** How the types are declared that the upstream answers. */

import type { FieldTable } from '../../fields/field.ts';
import type { HelpGroup, UpstreamQuestionType } from '../../question-type.ts';
import type { Schema } from '../../schema.ts';
import { PUBLIC_WEIGHTS } from '../../upstream-weights.ts';

/** A type of question, with its fields and the form of its answer. */
type Row = readonly [type: string, fields: FieldTable, answer: Schema, summary: string];

/** The schemas have the members that we know; the upstream may add others. */
export function declareForwarded(
  group: HelpGroup,
  rows: readonly Row[],
): readonly UpstreamQuestionType[] {
  return rows.map(([type, fields, answerSchema, summary]) => ({
    ...{ source: 'upstream', type, group, summary, weight: PUBLIC_WEIGHTS.of(type) },
    ...{ fields, answerSchema },
  }));
}
