/** A live demo whose ledger can be queried offline at any height. */

import assert from 'node:assert/strict';
import { answerQuestion } from '../../src/info/registry.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { type Program, start } from '../cli/program.ts';
import { restoreFrom } from '../replica/data-directory.ts';
import type { Cleanup } from '../service/running.ts';

/** Long enough for all tests of a file. */
const RUN_MS_MAX = 280_000;

export class RunningDemo {
  readonly data: string;
  readonly program: Program;
  /** The page with key and example users in its fragment. */
  url = '';
  users: readonly string[] = [];

  constructor(data: string, flags: readonly string[]) {
    this.data = data;
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

  /** The answer at a height, computed from the ledger. */
  async answerAt(height: number, question: object) {
    const ledger = await openEmbeddedLedger(this.data);
    try {
      const { replica } = await restoreFrom(ledger, this.data, height);
      return JSON.parse(answerQuestion(replica.state, question));
    } finally {
      await ledger.close();
    }
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
    assert.ok(wasRunning, `the demo ended by itself: code ${code}, signal ${signal}, ${stderr}`);
  });
  await demo.untilPrinted();
  return demo;
}
