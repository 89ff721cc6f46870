/** The refusals of an upstream that is perpinfo itself. They are passed on with their code and their field. */

import { isJsonObject } from '../../../events/fields.ts';
import { readErrorCode } from '../../../info/request-error.ts';
import { UPSTREAM_TEXT_LENGTH_MAX, type UpstreamAddress } from '../upstream-address.ts';
import type { OwnRefusal } from '../upstream-error.ts';
import type { HttpResponse } from '../upstream-http.ts';

/** Longer refusals are not parsed. Ours have their message twice. */
const BODY_BYTES_MAX = 16 << 10;
const FIELD = /^[A-Za-z]{1,32}$/;

/** Undefined if the response has another form, or a code that no question of a client can cause. */
export function readOwnRefusal(
  { status, body }: HttpResponse,
  address: UpstreamAddress,
): OwnRefusal | undefined {
  if (body.length > BODY_BYTES_MAX) return undefined;
  const value = parseObject(body);
  const message = value?.['message'];
  const code = readErrorCode(value?.['error'], status);
  if (code === undefined || typeof message !== 'string') return undefined;
  const field = value?.['field'];
  // A field that a secret is part of is left out.
  const isNamed = typeof field === 'string' && FIELD.test(field) && address.show(field) === field;
  return { code, message: showMessage(message, address), ...(isNamed ? { field } : {}) };
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Ends at a word, if the message is too long. */
function showMessage(message: string, address: UpstreamAddress): string {
  const shown = address.show(message);
  const isCut = shown.length < message.length && message.length > UPSTREAM_TEXT_LENGTH_MAX;
  return isCut ? shown.replace(/\s*\S*$/, ' ...') : shown;
}
