/** Replicas of a ledger on NATS, run as an operator runs them, and the answers expected of them. */

import assert from 'node:assert/strict';
import { openJetStreamKeys } from '../../src/access/jetstream/jetstream-keys.ts';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { start } from '../../tools/harness/program.ts';
import { type Cleanup, RunningService, until } from '../../tools/harness/running.ts';
import { scale } from '../scale.ts';
import { natsOptions } from './nats-servers.ts';

/** Longer than any test of this suite takes: a program that runs longer is killed. */
export const RUN_MS_MAX = scale(400_000, 400_000, 3_600_000);

export interface ReplicaOptions {
  readonly address: string;
  readonly data: string;
  readonly flags?: readonly string[];
}

/** Starts `perpinfo serve` on ports that the system picks, and waits until it listens. */
export async function startReplica({ address, data, flags = [] }: ReplicaOptions) {
  const fixed = ['--port', '0', '--admin-port', '0', '--overload-delay', '60000'];
  const place = ['--ledger', address, '--data', data];
  const program = start(['serve', ...place, ...fixed, ...flags], {}, RUN_MS_MAX);
  const service = new RunningService(program);
  await until('the replica to listen', () => {
    if (program.child.exitCode !== null) throw new Error(`it ended: ${program.stderr}`);
    return service.workerPids.length > 0;
  });
  return service;
}

export async function startReplicas(
  context: Cleanup,
  options: readonly ReplicaOptions[],
): Promise<RunningService[]> {
  const services = await Promise.all(options.map(startReplica));
  context.after(async () => {
    await Promise.all(services.map((service) => service.stop()));
  });
  return services;
}

export async function createSharedKey(address: string): Promise<{ id: string; secret: string }> {
  const store = await openJetStreamKeys(natsOptions(address));
  try {
    return await store.create({ label: 'test', budget: undefined, expiresMs: undefined });
  } finally {
    await store.close();
  }
}

/** Polls the health check until the replica has reached the height. */
export async function untilHeight(service: RunningService, height: number): Promise<void> {
  const { program } = service;
  let seen = 'no answer';
  const hasReached = async () => {
    const { exitCode, signalCode } = program.child;
    const hasEnded = exitCode !== null || signalCode !== null;
    if (hasEnded) throw new Error(`the replica has ended: ${signalCode ?? exitCode}`);
    // Here, not in the request: a log that cannot be read is not a missing answer.
    assert.ok(service.port > 0);
    const answer = await service.once({ path: '/health' }).catch(() => undefined);
    seen = answer?.body ?? seen;
    return answer !== undefined && JSON.parse(answer.body).height >= height;
  };
  try {
    await until(`height ${height}`, hasReached);
  } catch (error) {
    throw new Error(`${seen}\n${program.stdout}\n${program.stderr}`, { cause: error });
  }
}

/** The answers of an undisturbed replay at each height. */
export class Oracle {
  readonly questions: readonly object[];
  readonly #answers: string[][];
  readonly #digests: string[] = [];

  constructor(lines: readonly string[]) {
    this.questions = chooseQuestions(lines);
    const state = createState();
    const answer = () => this.questions.map((question) => answerQuestion(state, question));
    this.#answers = [answer()];
    this.#digests.push(stateDigest(state));
    for (const line of lines) {
      applyBlock(state, parseBlock(line));
      this.#answers.push(answer());
      this.#digests.push(stateDigest(state));
    }
  }

  digest(height: number): string {
    return this.#digests[height];
  }

  /** Throws if the answer is wrong for its height. */
  check(question: number, height: number, body: string): void {
    assert.equal(body, this.#answers[height]?.[question], `question ${question} at ${height}`);
  }
}

const USERS_ASKED = 5;

/** Some users that trade and stake, and the auction. */
function chooseQuestions(lines: readonly string[]): object[] {
  const state = createState();
  for (const line of lines) applyBlock(state, parseBlock(line));
  const users = Array.from({ length: USERS_ASKED }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  return [
    ...users.map((user) => ({ type: 'clearinghouseState', user })),
    ...users.map((user) => ({ type: 'delegations', user })),
    { type: 'perpDeployAuctionStatus' },
  ];
}

/** Asks every question of the oracle. */
export async function checkAllAnswers(
  service: RunningService,
  secret: string,
  oracle: Oracle,
  height: number,
): Promise<void> {
  const client = service.connect();
  for (const [index, question] of oracle.questions.entries()) {
    const { status, headers, body } = await client.ask(secret, question);
    assert.equal(status, 200, body);
    assert.equal(Number(headers['ledger-height']), height);
    oracle.check(index, height, body);
  }
}
