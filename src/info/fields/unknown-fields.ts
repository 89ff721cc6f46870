/**
 * Fields of a forwarded question that its type does not declare. The exchange may know these
 * fields, so they are passed on unchanged. A field that cannot be passed on unchanged is refused,
 * never dropped.
 */

import type { JsonObject } from '../../events/fields.ts';
import { describeValue } from '../../events/refusal.ts';
import { RequestError, wrongValue } from '../request-error.ts';

/** The maximum number of unknown fields in an object. */
const FIELDS_MAX = 16;
/** The maximum depth of nested objects and arrays, including the value of the field. */
const DEPTH_MAX = 4;
/** The maximum length of all unknown fields of an object, as JSON. */
const LENGTH_MAX = 4_096;

const NAME = /^[A-Za-z]\w{0,39}$/;

/**
 * Names in lower case that are never passed on: the fields of a node's `fileSnapshot`, which writes
 * a file; the fields of signed actions; the names of an object's prototype; and `type`, which would
 * make a nested question.
 */
const NEVER_PASSED: ReadonlySet<string> = new Set([
  ...['outpath', 'includeheightinoutput', 'request', 'type'],
  ...['action', 'nonce', 'signature', 'expiresafter'],
  ...['constructor', 'prototype'],
]);

/**
 * Returns the fields of `source` that are not in `known`, or a refusal. The fields are in
 * alphabetical order, so that equal questions are equal texts.
 */
export function readUnknownFields(
  source: JsonObject,
  known: readonly string[],
  path: string,
): JsonObject | RequestError {
  const names = Object.keys(source).filter((name) => !known.includes(name));
  try {
    const fields = copyFields(source, names, path, DEPTH_MAX);
    requireShort(fields, path);
    return fields;
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

function copyFields(
  source: JsonObject,
  names: readonly string[],
  path: string,
  depthLeft: number,
): JsonObject {
  const copy: JsonObject = {};
  for (const [index, name] of [...names].sort().entries()) {
    const value = source[name];
    const place = path + (NAME.test(name) ? name : describeValue(name));
    if (index === FIELDS_MAX)
      throw wrongValue(place, value, `${FIELDS_MAX} unknown fields at most`);
    if (!isPassable(name)) throw wrongValue(place, value, 'none: it is never passed on');
    if (value !== undefined) copy[name] = copyValue(value, place, depthLeft);
  }
  return copy;
}

function isPassable(name: string): boolean {
  return NAME.test(name) && !NEVER_PASSED.has(name.toLowerCase());
}

function copyValue(value: unknown, place: string, depthLeft: number): unknown {
  if (typeof value === 'number' && !isExact(value)) {
    throw wrongValue(place, value, 'a number that a double holds exactly; a larger one as text');
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depthLeft === 0) throw wrongValue(place, value, `at most ${DEPTH_MAX} levels of nesting`);
  if (Array.isArray(value)) {
    return value.map((item, index) => copyValue(item, `${place}[${index}]`, depthLeft - 1));
  }
  const fields = value as JsonObject;
  return copyFields(fields, Object.keys(fields), `${place}.`, depthLeft - 1);
}

/** A whole number beyond the safe range may have lost digits when it was parsed. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

function requireShort(fields: JsonObject, path: string): void {
  let length = 0;
  for (const [name, value] of Object.entries(fields)) {
    length += name.length + JSON.stringify(value).length;
    if (length <= LENGTH_MAX) continue;
    throw wrongValue(path + name, value, `${LENGTH_MAX} characters at most in all unknown fields`);
  }
}
