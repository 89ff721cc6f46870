/**
 * Removes chunks on NATS that belong to no snapshot. The client of the object store stores the
 * chunks of an object first and its description last. A process that is killed in between leaves
 * chunks that nothing else would ever delete.
 *
 *   $O.BUCKET.C.ID     the chunks of an object
 *   $O.BUCKET.M.NAME   its description with the id, even after its deletion; the name in base64url
 */

import type { ObjectStore } from '@nats-io/obj';
import type { NatsLink } from '../ledger/jetstream/nats.ts';

/**
 * Newer chunks are not removed. They may belong to another process that is publishing although it
 * has lost its lease.
 */
const ORPHANED_MS = 600_000;

interface ChunkPlace {
  readonly link: NatsLink;
  readonly objects: ObjectStore;
  readonly bucket: string;
  /** The number of existing snapshots. */
  readonly objectCount: number;
  readonly nowMs: number;
}

export async function removeOrphanedChunks(place: ChunkPlace): Promise<void> {
  const { link, bucket, objectCount } = place;
  const ids = await listLastTokens(place, 'C');
  if (ids.length <= objectCount) return;
  const described = await readDescribedIds(place);
  for (const id of ids.filter((each) => !described.has(each))) {
    const filter = `$O.${bucket}.C.${id}`;
    if (!(await isOld(place, filter))) continue;
    await link.ask('deleting orphaned chunks', () =>
      link.manager.streams.purge(streamOf(place), { filter }),
    );
  }
}

async function isOld(place: ChunkPlace, subject: string): Promise<boolean> {
  const { link, nowMs } = place;
  const last = await link.ask('reading the age of a chunk', () =>
    link.manager.streams.getMessage(streamOf(place), { last_by_subj: subject }),
  );
  return last !== null && nowMs - last.time.getTime() > ORPHANED_MS;
}

/**
 * Reads the descriptions one by one, because an interrupted list would lack some of them, and their
 * chunks would count as orphans.
 */
async function readDescribedIds(place: ChunkPlace): Promise<Set<string>> {
  const { link, objects } = place;
  const described = new Set<string>();
  for (const token of await listLastTokens(place, 'M')) {
    const name = Buffer.from(token, 'base64url').toString();
    const info = await link.ask('reading about a snapshot', () => objects.info(name));
    if (info !== null) described.add(info.nuid);
  }
  return described;
}

async function listLastTokens(place: ChunkPlace, kind: 'C' | 'M'): Promise<string[]> {
  const { link, bucket } = place;
  const subjects_filter = `$O.${bucket}.${kind}.>`;
  const { state } = await link.ask('listing what snapshots are made of', () =>
    link.manager.streams.info(streamOf(place), { subjects_filter }),
  );
  return Object.keys(state.subjects ?? {}).map((subject) =>
    subject.slice(subject.lastIndexOf('.') + 1),
  );
}

function streamOf({ bucket }: ChunkPlace): string {
  return `OBJ_${bucket}`;
}
