/** The stream of a ledger: its subject, its creation and its required configuration. */

import type { StreamConfig } from '@nats-io/jetstream';
import { LedgerError } from '../ledger.ts';
import type { NatsLink } from './nats.ts';

/** The servers deduplicate message ids for this long, so that a retried publish is idempotent. */
const DUPLICATE_WINDOW_MS = 120_000;

/** The subject that blocks are published on. */
export function subjectOf(name: string): string {
  return `perpinfo.${name}.blocks`;
}

/**
 * Creates the stream if there is none. The configuration of an existing stream is checked, but not
 * changed.
 */
export async function ensureStream(link: NatsLink): Promise<void> {
  const { manager, name, modules, options } = link;
  const { RetentionPolicy, StorageType } = modules.stream;
  try {
    const { config } = await link.ask('looking for the stream', () => manager.streams.info(name));
    checkStream(link, config);
  } catch (error) {
    if (!(error instanceof LedgerError) || error.fault !== 'missing') throw error;
    await link.ask('creating the stream', () =>
      manager.streams.add({
        name,
        subjects: [subjectOf(name)],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        num_replicas: options.replicas,
        // Allows reading blocks while the servers have no metadata leader.
        allow_direct: true,
        duplicate_window: modules.transport.nanos(DUPLICATE_WINDOW_MS),
      }),
    );
  }
}

/** Throws if the stream cannot store a ledger, for example if its storage is not durable. */
function checkStream({ name, modules }: NatsLink, config: StreamConfig): void {
  const { RetentionPolicy, StorageType } = modules.stream;
  const { subjects = [], retention, storage, no_ack } = config;
  const faults = [
    subjects.join() === subjectOf(name) ? '' : `its subjects are ${subjects.join(', ')}`,
    retention === RetentionPolicy.Limits ? '' : `its retention is ${retention}`,
    storage === StorageType.File ? '' : `its storage is ${storage}`,
    no_ack === true ? 'its no_ack is true' : '',
  ].filter((fault) => fault !== '');
  if (faults.length === 0) return;
  const expected = `expected the subject ${subjectOf(name)}, retention limits, storage file, no_ack false`;
  throw new LedgerError(
    'limit',
    `the stream ${name} cannot hold a ledger: ${faults.join('; ')}; ${expected}`,
  );
}
