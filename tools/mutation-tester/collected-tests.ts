/**
 * Replaces `node:test`: collects tests instead of running them, so that each test can be run alone,
 * once for each mutant that it reaches.
 */

type Work = (context: Context) => unknown;

class Context {
  readonly #cleanups: (() => unknown)[] = [];

  after(clean: () => unknown): void {
    this.#cleanups.push(clean);
  }

  diagnostic(): void {}

  async test(_name: string, ...rest: [Work] | [object, Work]): Promise<void> {
    await runWork(rest[rest.length - 1] as Work);
  }

  async close(): Promise<void> {
    for (const clean of this.#cleanups) await clean();
  }
}

async function runWork(work: Work): Promise<void> {
  const context = new Context();
  try {
    await work(context);
  } finally {
    await context.close();
  }
}

let collected: { name: string; run: () => Promise<void> }[] = [];
let preparations: (() => unknown)[] = [];

/** Returns the tests of the files that were imported since the last call, ready to run. */
export async function takeCollected(): Promise<typeof collected> {
  const taken = collected;
  for (const prepare of preparations) await prepare();
  collected = [];
  preparations = [];
  return taken;
}

export function test(name: string, ...rest: [Work] | [{ skip?: unknown }, Work]): void {
  const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
  if (options.skip) return;
  collected.push({ name, run: () => runWork(work) });
}

export function describe(_name: string, work: () => void): void {
  work();
}

export function before(prepare: () => unknown): void {
  preparations.push(prepare);
}

export function after(): void {}
