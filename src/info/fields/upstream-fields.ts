/**
 * Rebuilds the fields of a question for the upstream: declared fields are checked, and other fields
 * are passed on within limits (unknown-fields.ts).
 */

import type { JsonObject } from '../../events/fields.ts';
import { RequestError } from '../request-error.ts';
import { type Field, type FieldTable, isRequired, readOne, refuseMissing } from './field.ts';
import { readUnknownFields } from './unknown-fields.ts';

/**
 * Returns the fields in the form that the upstream expects, or a refusal. `path` names the object
 * that contains the fields.
 */
export function readUpstreamFields(
  fields: FieldTable,
  source: JsonObject,
  path = '',
): JsonObject | RequestError {
  const rebuilt: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = source[name];
    if ((given === undefined || given === null) && !isRequired(field)) continue;
    const value = readGiven(field, path + name, given);
    if (value instanceof RequestError) return value;
    rebuilt[name] = value;
  }
  const unknown = readUnknownFields(source, Object.keys(fields), path);
  return unknown instanceof RequestError ? unknown : { ...rebuilt, ...unknown };
}

function readGiven(field: Field<unknown>, name: string, given: unknown): unknown {
  if (given === undefined) return refuseMissing(name, field);
  const value = field.read(name, given);
  if (value instanceof RequestError || field.toUpstream === undefined) return value;
  return field.toUpstream(value);
}

/**
 * Converts a query string to the body of a question. A value that its field refuses stays a text.
 */
export function readUpstreamParameters(
  fields: FieldTable,
  parameters: URLSearchParams,
): JsonObject | RequestError {
  const body: [string, unknown][] = [];
  for (const name of new Set(parameters.keys())) {
    const text = readOne(name, parameters.getAll(name));
    if (text instanceof RequestError) return text;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    body.push([name, field?.readTexts?.([text]) ?? text]);
  }
  return Object.fromEntries(body);
}
