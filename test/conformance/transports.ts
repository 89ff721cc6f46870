/**
 * The same service behind each transport: the fast lane, Node's HTTP server, and push. They share one
 * ledger and one set of keys; each has budgets of its own, so that each is charged for its own questions.
 */

import { once } from 'node:events';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { WebSocket } from 'ws';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { Budget } from '../../src/config/budget.ts';
import type { HistorySource } from '../../src/http/answering/past-answers.ts';
import type { StateView } from '../../src/state/state.ts';
import type { FollowerClient } from '../../src/upstream/channel/follower-client.ts';
import { checkFrame } from '../../tools/harness/answer-checks.ts';
import { type Cleanup, HEIGHT, prepareData } from '../../tools/harness/service.ts';
import {
  type ChangedSettings,
  createInProcess,
  type Ground,
  listenLocally,
  openGround,
} from '../http/in-process.ts';

export interface Transport {
  readonly name: string;
  readonly port: number;
  readonly server: Server;
  readonly registry: Registry;
}

export interface Transports {
  readonly folder: string;
  readonly ground: Ground;
  readonly state: StateView;
  /** The secret of a key without a budget. */
  readonly key: string;
  readonly expired: string;
  /** As many with the budget as were asked for. */
  readonly budgeted: readonly string[];
  readonly lane: Transport;
  readonly node: Transport;
  readonly push: Transport;
}

interface Options {
  readonly settings?: ChangedSettings;
  /** Keys with a budget, and how many. */
  readonly budgets?: { readonly budget: Budget; readonly count: number };
  /** The archive and the follower that the services ask, made for the folder of the ledger. */
  openSources?(folder: string): Promise<AnswerSources>;
}

export interface AnswerSources {
  readonly history: HistorySource;
  readonly follower: FollowerClient;
  close(): Promise<void>;
}

export async function openTransports(
  context: Cleanup,
  { settings = {}, budgets, openSources }: Options = {},
): Promise<Transports> {
  const closers: (() => Promise<void> | void)[] = [];
  // Registered first, so that all is closed before the folder is removed.
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { folder, key } = await prepareData(context);
  const store = await openEmbeddedKeys(folder);
  const create = (budget?: Budget, expiresMs?: number) =>
    store.create({ label: 'conformance', budget, expiresMs }).secret;
  const expired = create(undefined, 1);
  const budgeted = Array.from({ length: budgets?.count ?? 0 }, () => create(budgets?.budget));
  await store.close();
  const sources = await openSources?.(folder);
  closers.push(async () => sources?.close());
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  while (ground.live.state?.height !== HEIGHT) await sleep(5);
  const open = async (name: string, noFastLane: boolean): Promise<Transport> => {
    const changed = { ...settings, noFastLane };
    const { server, registry, close } = createInProcess(ground, { settings: changed, ...sources });
    closers.push(close);
    return { name, server, registry, port: await listenLocally(server) };
  };
  return {
    ...{ folder, ground, key, expired, budgeted },
    state: ground.live.state,
    lane: await open('the fast lane', false),
    node: await open("Node's server", true),
    push: await open('push', false),
  };
}

/** The transports of HTTP, each under its name. */
export function httpTransports({ lane, node }: Transports): readonly Transport[] {
  return [lane, node];
}

/** A post of push, answered by the text of its frame. */
export interface PushAsker {
  post(payload: unknown): Promise<string>;
  close(): void;
}

export async function connectPushAsker({ port }: Transport, key: string): Promise<PushAsker> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${key}/ws`);
  await once(socket, 'open');
  let id = 0;
  return {
    async post(payload) {
      const answered = once(socket, 'message');
      socket.send(JSON.stringify({ method: 'post', id: ++id, request: { type: 'info', payload } }));
      const text = String((await answered)[0]);
      checkFrame(JSON.parse(text));
      return text;
    },
    close: () => socket.terminate(),
  };
}
