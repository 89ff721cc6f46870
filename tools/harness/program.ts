/** Runs the built program as a user would, and collects its output and exit code. */

import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { HttpLimits } from '../../src/http/limits.ts';
import { checkAnswer } from './answer-checks.ts';
import { MAIN } from './paths.ts';

const LIMITED_SERVICE = path.join(import.meta.dirname, 'limited-service.js');

/** A run that takes longer is killed, and its test fails on the signal. */
const RUN_MS_MAX = 60_000;

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** The whole standard input. */
  input?: string | Buffer;
  /** PERPINFO_* variables. Those of the test's own environment are not passed on. */
  variables?: Record<string, string>;
}

export class Program {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when the program has exited and its output has been read. */
  readonly ended: Promise<Outcome>;
  stdout = '';
  stderr = '';

  constructor(
    command: readonly string[],
    variables: Record<string, string> = {},
    runMsMax = RUN_MS_MAX,
  ) {
    const [file, ...args] = command;
    this.child = spawn(file, args, { env: { ...foreignVariables(), ...variables } });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    // A program may stop reading early. Then its output counts, and the error of our pipe is
    // ignored.
    this.child.stdin.on('error', () => undefined);
    this.ended = this.#waitForEnd(runMsMax);
  }

  #waitForEnd(runMsMax: number): Promise<Outcome> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), runMsMax);
    return new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('close', (code, signal) => {
        clearTimeout(timer);
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** Waits until standard output contains the text; fails if the program ends before that. */
  async untilWritten(text: string): Promise<void> {
    const { stdout } = this.child;
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!this.stdout.includes(text)) return;
        stdout.off('data', look);
        resolve();
      };
      stdout.on('data', look);
      look();
      this.ended.then(
        ({ stderr }) => reject(new Error(`ended without ${text}: ${stderr}`)),
        reject,
      );
    });
  }

  /** The highest height that the program has acknowledged. */
  get acknowledged(): number {
    const heights = [...this.stdout.matchAll(/^durable (\d+)$/gm)].map(([, height]) => height);
    return Number(heights.at(-1) ?? 0);
  }
}

function foreignVariables(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PERPINFO_'));
  return Object.fromEntries(entries);
}

/**
 * Starts the program. If a flag is given twice, the last value counts, so a test can replace the
 * flags of all tests.
 */
export function start(
  args: readonly string[],
  variables?: Record<string, string>,
  runMsMax?: number,
): Program {
  return new Program([process.execPath, MAIN, ...withoutOverruled(args)], variables, runMsMax);
}

/** Starts `perpinfo serve` with these limits instead of the program's limits. */
export function startLimited(
  limits: Partial<HttpLimits>,
  args: readonly string[],
  variables?: Record<string, string>,
  runMsMax?: number,
): Program {
  const program = [process.execPath, LIMITED_SERVICE, JSON.stringify(limits)];
  return new Program([...program, ...withoutOverruled(args)], variables, runMsMax);
}

/** Leaves out the flags that are given again later, each with its values up to the next flag. */
function withoutOverruled(args: readonly string[]): string[] {
  const isOverruled = args.map(
    (word, index) => isFlag(word) && args.slice(index + 1).some((later) => isSameFlag(word, later)),
  );
  const flagOf = (index: number) => args.findLastIndex((word, at) => at <= index && isFlag(word));
  return args.filter((_, index) => !(isOverruled[flagOf(index)] ?? false));
}

function isFlag(word: string): boolean {
  return word.startsWith('--');
}

function isSameFlag(word: string, later: string): boolean {
  return isFlag(later) && word.split('=', 1)[0] === later.split('=', 1)[0];
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const program = new Program([process.execPath, MAIN, ...args], options.variables);
  program.child.stdin.end(options.input ?? '');
  const outcome = await program.ended;
  checkQuery(args, outcome);
  return outcome;
}

/** Checks the answer that `perpinfo query` has printed. */
function checkQuery([command, ...args]: readonly string[], { code, stdout }: Outcome): void {
  const question = args.find((word) => word.startsWith('{'));
  if (command !== 'query' || code !== 0 || question === undefined) return;
  checkAnswer(JSON.parse(question).type, stdout);
}

/** Runs the program; fails if the program fails. */
export async function succeed(args: readonly string[], options?: RunOptions): Promise<Outcome> {
  const outcome = await run(args, options);
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome;
}

/** Runs a line of shell in which `perpinfo` starts the program. */
export function runShell(line: string): Promise<Outcome> {
  const program = `"${process.execPath}" "${MAIN}"`;
  const command = new Program(['bash', '-c', `perpinfo() { ${program} "$@"; }; ${line}`]);
  command.child.stdin.end();
  return command.ended;
}

/** The outcome of a successful run. */
export function done(stdout: string, stderr = ''): Outcome {
  return { code: 0, signal: null, stdout, stderr };
}

/** The outcome of wrong arguments: one line on standard error. */
export function askedWrongly(message: string): Outcome {
  return { code: 2, signal: null, stdout: '', stderr: `perpinfo: ${message}\n` };
}

/** The outcome of a failed run. */
export function failed(stderr: string, stdout = ''): Outcome {
  return { code: 1, signal: null, stdout, stderr };
}

/**
 * Creates a folder for the tests of a file, which is removed after the tests. Each call of the
 * result returns a new path in this folder.
 */
export function createPlaces(): (name?: string) => string {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-test-'));
  // The folder is removed after every hook that stops a process, because processes still use the
  // folder.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  let count = 0;
  return (name = 'data') => path.join(folder, `${++count}-${name}`);
}

export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

export function readVerification({ stdout }: Outcome): {
  height: number;
  head: string | undefined;
  digest: string | undefined;
} {
  const [, height, head, digest] =
    /^height (\d+)\nhead {3}([0-9a-f]{64})\ndigest ([0-9a-f]{64})\n$/.exec(stdout) ?? [];
  return { height: Number(height), head, digest };
}
