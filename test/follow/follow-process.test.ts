/** A follower as a process of its own, and a service on the same folder. */

import path from 'node:path';
import { test } from 'node:test';
import { createKey, startService } from '../../tools/harness/running.ts';
import { ANY_AGE, RunningFollower } from '../../tools/harness/running-follower.ts';
import { RunningStub } from '../../tools/harness/running-stub.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { checkAgainst } from '../../tools/stub-exchange/following.ts';
import { Truth } from '../../tools/stub-exchange/truth.ts';
import { LONG_ONLY } from '../scale.ts';
import { checkFollowProcess, startFollowProcess } from './follow-process.ts';

test('perpinfo follow writes a folder that a service answers from', LONG_ONLY, async (context) => {
  const folder = await makeTemporaryFolder(context);
  const [file, data] = [path.join(folder, 'truth.ndjson'), path.join(folder, 'data')];
  const stub = await RunningStub.start(context, { file, limit: 0 });
  const truth = new Truth(file);
  const place = ['--data', data];
  const process = await startFollowProcess(context, place, stub);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, workers: 2, flags: ANY_AGE });
  const services = [new RunningFollower(service, secret)];
  const check = checkAgainst(stub, truth);
  await checkFollowProcess(context, { stub, truth, check, place, process, services });
});
