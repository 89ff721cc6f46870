/** The push frames of `weights.ts`: questions, subscriptions, and frames that are refused. */

import { formatPost, listPushFloods } from '../load/push-frames.ts';
import type { PushStep } from '../load/push-load.ts';
import type { WeightsData } from './data.ts';
import { listManyAccounts } from './questions.ts';
import { GIANT_USER } from './stub-follower.ts';

export interface PushCase {
  readonly question: string;
  readonly account: string;
  readonly steps: readonly PushStep[];
  readonly connections?: number;
  /** True if the question is sent to the service that forwards questions. */
  readonly isForwarded?: true;
}

const BATCH_USERS = 1000;

function posts(questions: readonly object[]): PushStep[] {
  return questions.map((question) => ({ frame: formatPost(question), answers: 1 }));
}

/**
 * Returns a step that subscribes and a step that unsubscribes. The first is answered by an
 * acknowledgement and the first state, the second by another acknowledgement.
 */
function changes(user: string): PushStep[] {
  const subscription = { type: 'clearinghouseState', user };
  return [
    { frame: JSON.stringify({ method: 'subscribe', subscription }), answers: 2 },
    { frame: JSON.stringify({ method: 'unsubscribe', subscription }), answers: 1 },
  ];
}

export function listPushCases(data: WeightsData): PushCase[] {
  const cases: PushCase[] = [];
  for (const { account, users } of listManyAccounts(data)) {
    const many = Array.from({ length: BATCH_USERS }, (_, index) => users[index % users.length]);
    const batch = { type: 'batchClearinghouseStates', users: many };
    cases.push(
      {
        question: 'push: post of clearinghouseState',
        account,
        steps: posts(users.map((user) => ({ type: 'clearinghouseState', user }))),
      },
      {
        question: 'push: post of batchClearinghouseStates of 1,000',
        account,
        steps: posts([batch]),
        connections: 2,
      },
      {
        question: 'push: subscribe and unsubscribe, a frame each',
        account,
        steps: users.flatMap(changes),
      },
    );
  }
  const giant = { type: 'userFills', user: GIANT_USER };
  cases.push({
    ...{ question: 'push: post of userFills, 7.8 MB', account: '', steps: posts([giant]) },
    ...{ connections: 1, isForwarded: true },
  });
  for (const [question, frame] of Object.entries(listPushFloods())) {
    cases.push({ question: `push: ${question}`, account: '', steps: [{ frame, answers: 1 }] });
  }
  return cases;
}
