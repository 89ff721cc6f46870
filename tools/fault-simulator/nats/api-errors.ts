/** The errors in the answers of a JetStream server. */

interface ApiError {
  readonly code: number;
  readonly err_code: number;
  readonly description: string;
}

export interface Refusal {
  readonly error: ApiError;
}

function refuse(code: number, errorCode: number, description: string): Refusal {
  return { error: { code, err_code: errorCode, description } };
}

export const STREAM_NOT_FOUND = refuse(404, 10059, 'stream not found');
export const CONSUMER_NOT_FOUND = refuse(404, 10014, 'consumer not found');
export const NO_MESSAGE_FOUND = refuse(404, 10037, 'no message found');
export const NO_LEADER = refuse(503, 10008, 'JetStream system temporarily unavailable');
export const OTHER_STREAM_EXPECTED = refuse(400, 10060, 'expected stream does not match');
export const NAME_IN_USE = refuse(
  400,
  10058,
  'stream name already in use with a different configuration',
);

export function wrongLastSequence(last: number): Refusal {
  return refuse(400, 10071, `wrong last sequence: ${last}`);
}

export function sequenceNotFound(seq: number): Refusal {
  return refuse(400, 10043, `sequence ${seq} not found`);
}

export function wrongLastId(last: string): Refusal {
  return refuse(400, 10070, `wrong last msg ID: ${last}`);
}
