/** Reads a pushed message as the answer to a question. */

import type { Answer, Question } from '../figures/answers.ts';
import type { PushMessage } from './push.ts';

export interface PushedAnswer {
  readonly question: Question;
  readonly answer: Answer;
}

interface Pushed extends Question {
  readonly height?: number;
  readonly time?: number;
  readonly accountTime?: number;
  readonly [field: string]: unknown;
}

/**
 * The field of the answer, for channels whose answer is not in a field with the name of the
 * channel.
 */
const ANSWER_FIELDS: Readonly<Record<string, string>> = {
  allDexsClearinghouseState: 'clearinghouseStates',
};

/** Returns the answer and its question; returns undefined if the message is not an answer. */
export function readPush({ channel, data }: PushMessage): PushedAnswer | undefined {
  const field = ANSWER_FIELDS[channel] ?? channel;
  if (typeof data !== 'object' || data === null || !(field in data)) return undefined;
  const { user, dex, height, accountTime, [field]: value } = data as Pushed;
  const { time = accountTime ?? 0 } = data as Pushed;
  return {
    question: { type: channel, user: user ?? '', dex: dex ?? '' },
    answer: { value, height, time, accountTime },
  };
}
