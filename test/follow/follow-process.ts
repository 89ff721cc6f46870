/** `perpinfo follow`: a follower as a process of its own, beside the services that answer. */

import assert from 'node:assert/strict';
import { type Program, run, start } from '../../tools/harness/program.ts';
import { type Cleanup, until } from '../../tools/harness/running.ts';
import { QUICK, type RunningFollower } from '../../tools/harness/running-follower.ts';
import type { Following } from '../../tools/stub-exchange/following.ts';

/** Where the ledger is: `--data` or `--ledger`, and what belongs to it. */
type Place = readonly string[];

/** Longer than any test takes. */
const RUN_MS_MAX = 300_000;

export async function startFollowProcess(
  context: Cleanup,
  place: Place,
  { url }: { readonly url: string },
): Promise<Program> {
  const program = start(['follow', ...place, '--upstream', url, ...QUICK], {}, RUN_MS_MAX);
  context.after(() => void program.child.kill('SIGKILL'));
  await program.untilWritten('"following"');
  return program;
}

interface Followed extends Pick<Following, 'stub' | 'truth' | 'check'> {
  readonly place: Place;
  readonly process: Program;
  readonly services: readonly RunningFollower[];
}

/**
 * Services answer about accounts that only the follower can read; a second follower is refused; one that
 * is killed is replaced, and nothing of it is lost; SIGTERM ends it as it should.
 */
export async function checkFollowProcess(context: Cleanup, followed: Followed): Promise<void> {
  const { stub, truth, place, process, services } = followed;
  const users = [...truth.users];
  async function askAll(): Promise<void> {
    const user = users.shift();
    assert.ok(user !== undefined, 'a user whom nobody has asked for');
    const question = { type: 'clearinghouseState', user, dex: '' };
    for (const service of services) await followed.check([await service.untilAnswered(question)]);
  }
  await askAll();
  const second = await run(['follow', ...place, '--upstream', stub.url]);
  assert.equal(second.code, 1, second.stderr);
  assert.match(second.stderr, /writer/);
  process.child.kill('SIGKILL');
  await process.ended;
  const verified = await run(['verify', ...place]);
  assert.equal(verified.code, 0, verified.stderr);
  const next = await startFollowProcess(context, place, stub);
  await askAll();
  for (const service of services) {
    await until('the report of the follower', async () => {
      const { status, body } = await service.health();
      return status === 200 && body['follow'] !== undefined;
    });
  }
  next.child.kill('SIGTERM');
  const { code, signal, stderr } = await next.ended;
  assert.deepEqual([code, signal, stderr], [0, null, '']);
}
