import { describePort } from './conformance.ts';
import { connectInProcess } from './in-process.ts';

describePort('in one process', async (handler, work) => {
  const client = connectInProcess(handler);
  await work(client);
  await client.close();
});
