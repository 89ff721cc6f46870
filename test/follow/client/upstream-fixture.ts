/** A client of a scripted upstream, on a clock that the test moves. */

import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  openUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../src/upstream/client/upstream.ts';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import {
  UpstreamError,
  type UpstreamErrorKind,
} from '../../../src/upstream/client/upstream-error.ts';
import { ManualClock } from '../manual-clock.ts';
import { type Respond, type ScriptedServer, startServer } from './scripted-server.ts';

/** Whatever is waited for comes long before; only a failing test waits this long. */
const PATIENCE_MS = 10_000;

export const USER = '0x00000000000000000000000000000000000000aa';

export interface UpstreamFixture {
  readonly server: ScriptedServer;
  readonly clock: ManualClock;
  readonly upstream: Upstream;
  readonly log: string[];
}

export async function openFixture(
  t: TestContext,
  respond: Respond,
  options: Partial<UpstreamOptions> & { readonly path?: string } = {},
): Promise<UpstreamFixture> {
  const server = await startServer(t, respond);
  const clock = new ManualClock();
  const log: string[] = [];
  const upstream = await openUpstream({
    address: readUpstreamAddress(new URL(`${server.base}${options.path ?? ''}`)),
    budget: 1200,
    log: {
      info: (message) => log.push(`info ${message}`),
      warn: (message) => log.push(`warn ${message}`),
    },
    clock,
    random: () => 1,
    ...options,
  });
  t.after(() => upstream.close());
  return { server, clock, upstream, log };
}

/** Lets input and output go on until the condition holds; the clock of the fixture stands still. */
export async function untilSo(what: string, isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await nextTurn();
  }
}

/** The error that a question fails with. */
export async function failureOf(asked: Promise<unknown>): Promise<UpstreamError> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
  throw new Error('it was answered');
}

export async function kindOf(asked: Promise<unknown>): Promise<UpstreamErrorKind> {
  return (await failureOf(asked)).kind;
}
