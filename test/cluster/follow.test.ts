/** A follower as the one writer of a ledger on NATS, and replicas that answer from it. */

import path from 'node:path';
import { test } from 'node:test';
import { ANY_AGE, RunningFollower } from '../../tools/harness/running-follower.ts';
import { RunningStub } from '../../tools/harness/running-stub.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { checkAgainst } from '../../tools/stub-exchange/following.ts';
import { Truth } from '../../tools/stub-exchange/truth.ts';
import { checkFollowProcess, startFollowProcess } from '../follow/follow-process.ts';
import { LONG_ONLY } from '../scale.ts';
import { startNats } from './nats-servers.ts';
import { createSharedKey, startReplicas } from './replicas.ts';

test('replicas answer from what perpinfo follow writes to NATS', LONG_ONLY, async (context) => {
  const folder = await makeTemporaryFolder(context);
  const nats = await startNats();
  context.after(() => nats.stop());
  const file = path.join(folder, 'truth.ndjson');
  const stub = await RunningStub.start(context, { file, limit: 0 });
  const truth = new Truth(file);
  const address = nats.address('followed');
  const place = ['--ledger', address];
  const process = await startFollowProcess(context, place, stub);
  const { secret } = await createSharedKey(address);
  const replicas = ['first', 'second'].map((name) => {
    return { address, data: path.join(folder, name), flags: ANY_AGE };
  });
  const services = (await startReplicas(context, replicas)).map(
    (service) => new RunningFollower(service, secret),
  );
  const check = checkAgainst(stub, truth);
  await checkFollowProcess(context, { stub, truth, check, place, process, services });
});
