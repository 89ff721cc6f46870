/**
 * Runs every check, two at a time where there are two processors, each within its time budget: the
 * linter, then the suites of tests. What a suite writes is shown when it has ended. One that fails or
 * runs over does not stop the others, so that one run shows all that is wrong; it is run again alone in
 * the end, and has failed if it does so there too.
 *
 *   node build/test/run.js [suite ...]
 */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

const TESTS = import.meta.dirname;
/** Most of what a suite does is wait for processes that it has started. */
const SUITES_AT_A_TIME = 2;

interface Suite {
  name: string;
  budgetSeconds: number;
  command: string[];
  /** Variables that its processes get, beside those of this one. */
  environment?: Record<string, string>;
  /** Without it the suite is left out, unless the variable CI is set. */
  needs?: Need;
}

interface Need {
  what: string;
  isThere: () => boolean;
}

function program(name: string): Need {
  return {
    what: `${name} (on Debian: apt-get install ${name})`,
    isThere: () => spawnSync(name, ['--version']).error === undefined,
  };
}

/** A suite of tests: every *.test.js below a folder of build/test. */
function testSuite(name: string, budgetSeconds: number, { filesAtATime = 1 } = {}): Suite {
  const root = path.join(TESTS, name);
  const files = existsSync(root)
    ? readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.test.js'))
        .map((file) => path.join(root, file))
    : [];
  if (files.length === 0) throw new Error(`the suite ${name} has no tests`);
  const options = ['--enable-source-maps', '--test', '--test-reporter=spec'];
  if (filesAtATime > 1) options.push(`--test-concurrency=${filesAtATime}`);
  return { name, budgetSeconds, command: [process.execPath, ...options, ...files.sort()] };
}

/** The same tests again, with every request going through Node's own HTTP server. */
function plainSuite(suite: Suite): Suite {
  const environment = { PERPINFO_NO_FAST_LANE: 'true' };
  return { ...suite, name: `${suite.name}-plain`, environment };
}

/** A comparison that found something new would stop a change that has nothing to do with it. */
function sameEachTime(suite: Suite): Suite {
  const seed = process.env['PERPINFO_TEST_SEED'] ?? '11';
  return { ...suite, environment: { PERPINFO_TEST_SEED: seed } };
}

/** Runs what follows in a mount namespace of its own, also for a user who is not root where allowed. */
const OWN_MOUNTS = ['unshare', '--map-root-user', '--mount'];

/** The same tests where they may mount disks, which nobody else sees and which end with them. */
function mountingSuite(suite: Suite): Suite {
  const [first, ...tryMount] = [...OWN_MOUNTS, 'mount', '-t', 'tmpfs', 'perpinfo-test', '/mnt'];
  const isThere = () => spawnSync(first, tryMount).status === 0;
  const needs = { what: 'to be allowed to mount a tmpfs (root, or user namespaces)', isThere };
  return { ...suite, command: [...OWN_MOUNTS, ...suite.command], needs };
}

const HTTP = testSuite('http', 360);
const SERVICE = testSuite('service', 420);
const PUSH = testSuite('push', 360);
const CLIENTS = testSuite('clients', 300);

/** The long ones first, so that none of them is left to run alone at the end. */
const SUITES: Suite[] = [
  { name: 'lint', budgetSeconds: 120, command: ['npm', 'run', '--silent', 'lint'] },
  sameEachTime(testSuite('lane', 480, { filesAtATime: 2 })),
  { ...testSuite('cluster', 480, { filesAtATime: 2 }), needs: program('nats-server') },
  SERVICE,
  plainSuite(SERVICE),
  HTTP,
  plainSuite(HTTP),
  PUSH,
  plainSuite(PUSH),
  sameEachTime(testSuite('hostile', 360)),
  testSuite('twin', 360),
  testSuite('browser', 360),
  CLIENTS,
  plainSuite(CLIENTS),
  mountingSuite(testSuite('disk', 360)),
  testSuite('crash', 240),
  testSuite('replay', 360),
  testSuite('cli', 300),
  testSuite('docs', 180),
  testSuite('feed', 120),
  testSuite('ledger', 180),
  testSuite('state', 120),
  testSuite('info', 120),
  testSuite('web', 60),
];

function isLeftOut({ name, needs }: Suite): boolean {
  if (needs === undefined || process.env['CI'] !== undefined) return false;
  if (needs.isThere()) return false;
  console.log(`\n== ${name}: left out, it needs ${needs.what}`);
  return true;
}

/** Runs it, and resolves to whether it passed, once it has ended and its output is shown. */
function runSuite({ name, budgetSeconds, command, environment }: Suite): Promise<boolean> {
  const startedMs = Date.now();
  const [program, ...args] = command;
  const output: Buffer[] = [];
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => output.push(bytes));
    }
    const timer = setTimeout(() => {
      output.push(Buffer.from(`== ${name}: over its budget of ${budgetSeconds} s, stopped\n`));
      // The group, so that no process that a test started is left behind.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, budgetSeconds * 1000);
    child.on('close', (code) => {
      clearTimeout(timer);
      const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
      const verdict = `== ${name}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`;
      console.log(`\n== ${name} (at most ${budgetSeconds} s)\n${Buffer.concat(output)}${verdict}`);
      resolve(code === 0);
    });
  });
}

const wanted = process.argv.slice(2);
const chosen = SUITES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const queue = chosen.filter((suite) => !isLeftOut(suite));
const leftOut = chosen.length - queue.length;
const failedBeside: Suite[] = [];
const failed: string[] = [];
let passed = 0;

async function work(): Promise<void> {
  for (let suite = queue.shift(); suite !== undefined; suite = queue.shift()) {
    console.log(`== ${suite.name} begins`);
    if (await runSuite(suite)) passed += 1;
    else failedBeside.push(suite);
  }
}

const atATime = Math.min(SUITES_AT_A_TIME, availableParallelism());
await Promise.all(Array.from({ length: atATime }, work));
// What fails only while another suite takes the processors says little about the program.
for (const suite of failedBeside) {
  console.log(`== ${suite.name} begins again, alone`);
  if (await runSuite(suite)) passed += 1;
  else failed.push(suite.name);
}
console.log(`\nsuites: ${passed} passed, ${failed.length} failed, ${leftOut} left out`);
if (failedBeside.length > 0) {
  console.log(`run again alone: ${failedBeside.map(({ name }) => name).join(', ')}`);
}
if (failed.length > 0) console.log(`failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
