/** The metrics tell how long each kind of work took between two turns of the event loop. */

import { test } from 'node:test';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { connectPush } from '../../tools/harness/push-client.ts';
import {
  createKey,
  LIGHT,
  makeLedger,
  readSamples,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { archiveOnce } from '../archive/archived.ts';

const place = createPlaces();
const lines = simulateLines(60, 'work');
/** The rest follows while the service runs. */
const APPENDED = 40;
/** More than are answered in one go. */
const USERS = Array.from({ length: 60 }, (_, index) => `0x${String(index).padStart(40, '0')}`);

test('each kind of work is counted once it is done', async (context) => {
  const data = await makeLedger(place(), lines.slice(0, APPENDED));
  await archiveOnce(data);
  const { secret } = await createKey(data);
  const flags = ['--max-age', '0', '--push-interval', '0'];
  const service = await startService(context, { data, flags });
  await service.untilCaughtUp(APPENDED);
  const client = service.connect();
  const subscriber = await connectPush(context, { port: service.port, key: secret });
  subscriber.subscribe(LIGHT);
  await subscriber.next('subscriptionResponse');
  await client.ask(secret, { type: 'batchClearinghouseStates', users: USERS });
  await until('the archive', async () => {
    return (await client.ask(secret, { ...LIGHT, atHeight: 10 })).status === 200;
  });
  await appendAll(data, lines.slice(APPENDED), NO_SNAPSHOTS);
  await service.untilCaughtUp(lines.length);
  // A service takes snapshots on NATS only; here the writer does.
  const kinds = ['blocks', 'requests', 'many_accounts', 'past', 'push'];
  await until('all kinds of work', async () => {
    const samples = readSamples(await service.metrics());
    const countOf = (work: string) => samples.get(`perpinfo_work_seconds_count{work="${work}"}`);
    return kinds.every((work) => (countOf(work) ?? 0) > 0);
  });
});
