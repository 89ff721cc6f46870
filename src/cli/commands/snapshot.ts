/** `perpinfo snapshot`: asks a running service to save a snapshot. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { UsageError } from '../../config/usage-error.ts';
import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';
import { SNAPSHOT_PATH } from '../../service/listening/admin.ts';
import { formatOrigin } from '../../service/listening/server-url.ts';
import { ADMIN_SETTINGS } from '../../service/settings.ts';
import { unlessStopped } from '../../service/stop-deadline.ts';
import type { Command } from '../command.ts';

const settings = ADMIN_SETTINGS;

export const snapshot: Command<typeof settings> = {
  name: 'snapshot',
  summary: 'Makes a running service save a snapshot of its state.',
  settings,
  details:
    'Asks the service on its admin port, waits until the snapshot is saved, and prints its height and\n' +
    'where it is: the file in the folder of --data, and with a ledger on NATS the object in its object\n' +
    'store, where other replicas find it.',
  example: 'perpinfo snapshot --admin-port 9464',
  async run({ settings: { adminHost, adminPort }, terminal, signal }) {
    if (adminPort === 0)
      throw new UsageError(['--admin-port: got 0, expected that of the service']);
    const origin = formatOrigin(adminHost, adminPort);
    await terminal.write(formatSaved(await unlessStopped(requestSnapshot(origin), signal)));
  },
};

async function requestSnapshot(origin: string): Promise<SavedSnapshot> {
  const { status, body } = await post(`${origin}${SNAPSHOT_PATH}`).catch((error: Error) => {
    const reason = (error as NodeJS.ErrnoException).code ?? error.message;
    const message = `the service at ${origin} does not answer (${reason}): is it running, with this admin port?`;
    throw new Error(message, { cause: error });
  });
  if (status === 200) return JSON.parse(body) as SavedSnapshot;
  if (status === 404) throw new Error(`the service at ${origin} saves no snapshots on request`);
  throw new Error(`the service at ${origin} has saved no snapshot: ${body.trim()}`);
}

/** Sends a POST request without a deadline, because writing a large state takes many seconds. */
async function post(url: string): Promise<{ status: number; body: string }> {
  const sent = request(url, { method: 'POST' }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

function formatSaved({ height, file, object }: SavedSnapshot): string {
  const fileLine = file === undefined ? '' : `file   ${file}\n`;
  const objectLine = object === undefined ? '' : `object ${object}\n`;
  return `height ${height}\n${fileLine}${objectLine}`;
}
