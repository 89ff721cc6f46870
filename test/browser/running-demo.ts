/**
 * A live demo whose ledger can be queried offline at any height; or, where demos are to be followed, a
 * follower of one, with its own ledger.
 */

import assert from 'node:assert/strict';
import { answerQuestion } from '../../src/info/read-question.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { restoreFrom } from '../../tools/harness/data-directory.ts';
import { type Program, start } from '../../tools/harness/program.ts';
import type { Cleanup } from '../../tools/harness/running.ts';
import { followPerpinfo, heightsAt, isFollowed } from '../follow/perpinfo-upstream.ts';
import type { ShownPanel } from './page-figures.ts';

/** Long enough for all tests of a file. */
const RUN_MS_MAX = 280_000;

/** Where an answer is from. */
type Place = Pick<ShownPanel, 'height' | 'accountTime'>;

export class RunningDemo {
  /** Of the demo, even if it is followed. */
  readonly data: string;
  readonly program: Program;
  /** The page with key and example users in its fragment. */
  url = '';
  #ledgerData: string;
  users: readonly string[] = [];
  wasKilled = false;

  constructor(data: string, flags: readonly string[]) {
    this.data = data;
    this.#ledgerData = data;
    const args = ['demo', '--port', '0', '--data', data, ...flags];
    // A busy machine must not make the service refuse requests, or call itself stale: what a stale
    // ledger looks like is shown on services without a feed.
    const patience = { PERPINFO_OVERLOAD_DELAY: '60000', PERPINFO_MAX_AGE: '60000' };
    this.program = start(args, patience, RUN_MS_MAX);
  }

  async untilPrinted(): Promise<void> {
    await this.program.untilWritten('Ctrl-C');
    this.url = /dashboard (\S+)/.exec(this.program.stdout)?.[1] ?? '';
    this.users =
      new URLSearchParams(new URL(this.url).hash.slice(1)).get('users')?.split(',') ?? [];
    assert.ok(this.users.length >= 2, this.program.stdout);
  }

  /** Ends the demo without a warning, as kill -9 does. */
  async kill(): Promise<void> {
    this.wasKilled = true;
    this.program.child.kill('SIGKILL');
    await this.program.ended;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** From here on the page is that of a follower. */
  async follow(context: Cleanup, data: string): Promise<void> {
    const { service, secret } = await followPerpinfo(context, this, data);
    this.#ledgerData = data;
    this.url = `http://127.0.0.1:${service.port}/#key=${secret}&users=${this.users}`;
  }

  /** The answer that a panel shows, computed from the ledger: the demo's, if it is its own answer. */
  async answerOf({ height, accountTime }: Place, question: object) {
    if (height > 0) return answerAt(this.#ledgerData, height, question);
    const [ownHeight] = await heightsAt(this.data, accountTime);
    return answerAt(this.data, ownHeight, question);
  }
}

async function answerAt(data: string, height: number, question: object) {
  const ledger = await openEmbeddedLedger(data);
  try {
    const { replica } = await restoreFrom(ledger, data, height);
    return JSON.parse(answerQuestion(replica.state, question));
  } finally {
    await ledger.close();
  }
}

export async function startDemo(
  context: Cleanup,
  data: string,
  ...flags: string[]
): Promise<RunningDemo> {
  const demo = new RunningDemo(data, ['--accounts', '40', '--seed', '7', ...flags]);
  context.after(async () => {
    const wasRunning = demo.program.child.kill('SIGTERM');
    const { code, signal, stderr } = await demo.program.ended;
    assert.ok(
      wasRunning || demo.wasKilled,
      `the demo ended by itself: code ${code}, signal ${signal}, ${stderr}`,
    );
  });
  await demo.untilPrinted();
  if (isFollowed) await demo.follow(context, `${data}-followed`);
  return demo;
}
