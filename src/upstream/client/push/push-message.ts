/** The parts that every message of the push connection has. */

import type { RawData } from 'ws';
import { isJsonObject } from '../../../events/fields.ts';
import { NestingError, parseUpstreamJson } from '../answers/upstream-json.ts';

export interface PushMessage {
  readonly channel: string;
  readonly data: unknown;
}

const NO_MESSAGE = 'a message that is not JSON with a channel';

/** Returns the message, or the reason why the data is not a valid message. */
export function parsePushMessage(data: RawData, isBinary: boolean): PushMessage | string {
  if (isBinary) return NO_MESSAGE;
  try {
    const message = parseUpstreamJson(data.toString());
    if (!isJsonObject(message) || typeof message['channel'] !== 'string') return NO_MESSAGE;
    return { channel: message['channel'], data: message['data'] };
  } catch (error) {
    return error instanceof NestingError ? `a message ${error.message}` : NO_MESSAGE;
  }
}
