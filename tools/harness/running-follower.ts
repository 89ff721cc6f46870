/**
 * A service whose ledger follows a stub exchange, as an operator runs it, and a client of the
 * service.
 */

import type { Question } from '../stub-exchange/dialect-answers.ts';
import type { FollowerAnswer } from '../stub-exchange/follower-answers.ts';
import { type Cleanup, createKey, type RunningService, startService, until } from './running.ts';
import type { RunningStub } from './running-stub.ts';

export interface FollowerOptions {
  readonly data: string;
  readonly stub: Pick<RunningStub, 'url'>;
  readonly workers?: number;
  readonly flags?: readonly string[];
  /** Variables of the service's environment. */
  readonly variables?: Record<string, string>;
  /** The secret of the key that an earlier run created on the same data. */
  readonly secret?: string;
}

/** A follower is killed after this time, which is longer than its tests take. */
const RUN_MS_MAX = 7_200_000;

/**
 * Flags that make a follower quick enough for tests. A later flag replaces them. The exchange may
 * be hours behind this machine's clock.
 */
export const QUICK = ['--follow-sweep', '1000', '--follow-budget', '0'];
export const ANY_AGE = ['--max-age', '0'];
/** The number of the level "warn" in pino's log. */
const WARN_LEVEL = 40;

export class RunningFollower {
  readonly service: RunningService;
  readonly secret: string;

  constructor(service: RunningService, secret: string) {
    this.service = service;
    this.secret = secret;
  }

  static async start(context: Cleanup, options: FollowerOptions): Promise<RunningFollower> {
    const { data, stub, workers = 1, flags = [], variables = {} } = options;
    const secret = options.secret ?? (await createKey(data)).secret;
    const service = await startService(context, {
      data,
      workers,
      variables,
      runMsMax: RUN_MS_MAX,
      flags: ['--follow', stub.url, ...QUICK, ...ANY_AGE, ...flags],
    });
    return new RunningFollower(service, secret);
  }

  /** Asks a question on a new connection. */
  async ask(question: Question, maxAgeMs?: number): Promise<FollowerAnswer> {
    const age = maxAgeMs === undefined ? {} : { 'Account-Max-Age': `${maxAgeMs}` };
    const answer = await this.service.once({
      method: 'POST',
      path: `/${this.secret}/info`,
      headers: { 'Content-Type': 'application/json', ...age },
      body: JSON.stringify(question),
    });
    return { question, ...answer };
  }

  /** Asks again and again until the answer comes from the ledger. */
  async untilAnswered(question: Question, maxAgeMs?: number): Promise<FollowerAnswer> {
    let last: FollowerAnswer | undefined;
    try {
      return await until(`the answer to ${JSON.stringify(question)}`, async () => {
        last = await this.ask(question, maxAgeMs);
        const isFromLedger = last.headers['account-source'] === undefined;
        return last.status === 200 && isFromLedger ? last : undefined;
      });
    } catch (error) {
      throw new Error(`last: ${last?.status} ${last?.body}`, { cause: error });
    }
  }

  /** The messages of the follower's log with level warn or above. */
  get warnings(): string[] {
    const lines = this.service.program.stdout.split('\n').slice(0, -1);
    const parsed = lines.map((line) => JSON.parse(line) as { level: number; msg: string });
    return parsed.filter(({ level }) => level >= WARN_LEVEL).map(({ msg }) => msg);
  }

  get refusals(): string[] {
    return this.warnings.filter((line) => line.includes('is refused'));
  }

  async stop(): Promise<void> {
    const { code, signal, stderr } = await this.service.stop();
    if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${stderr}`);
  }

  async health(): Promise<{ status: number; body: Record<string, unknown> }> {
    const { status, body } = await this.service.once({ path: '/health' });
    return { status, body: JSON.parse(body) };
  }
}
