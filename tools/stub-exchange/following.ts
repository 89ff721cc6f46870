/** A stub exchange, a follower of it, and the truth, with which most tests of following start. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { type FollowerOptions, RunningFollower } from '../harness/running-follower.ts';
import { RunningStub, type StubChoice } from '../harness/running-stub.ts';
import { makeTemporaryFolder } from '../harness/temporary-folder.ts';
import { checkFollowerAnswer, type FollowerAnswer } from './follower-answers.ts';
import { Truth } from './truth.ts';

interface Cleanup {
  after(clean: () => Promise<void> | void): void;
}

export interface Following {
  readonly stub: RunningStub;
  readonly truth: Truth;
  readonly follower: RunningFollower;
  readonly data: string;
  /**
   * Compares answers with the current truth, and compares the exchange's own answers with the
   * answers that the stub sent.
   */
  check(told: readonly FollowerAnswer[]): Promise<void>;
}

export interface FollowingChoice {
  readonly stub?: Partial<StubChoice>;
  readonly follower?: Partial<FollowerOptions>;
}

export async function startFollowing(
  context: Cleanup,
  choice: FollowingChoice = {},
): Promise<Following> {
  const folder = await makeTemporaryFolder({ after: (clean) => context.after(clean) });
  const file = path.join(folder, 'truth.ndjson');
  const data = path.join(folder, 'data');
  const stub = await RunningStub.start(context, { file, limit: 0, ...choice.stub });
  const follower = await RunningFollower.start(context, { data, stub, ...choice.follower });
  const truth = new Truth(file);
  return { stub, truth, follower, data, check: checkAgainst(stub, truth) };
}

export function checkAgainst(stub: RunningStub, truth: Truth): Following['check'] {
  return async (told) => {
    truth.refresh();
    for (const one of told) {
      if (one.headers['account-source'] !== 'upstream') checkFollowerAnswer(truth, one);
      else assert.ok(await stub.hasServed(one.question, one.body), one.body);
    }
  };
}
