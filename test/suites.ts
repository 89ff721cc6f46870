/** The table of suites: what the commands that test run, and how long each suite may take. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../tools/harness/paths.ts';
import { isLongRun, scale } from './scale.ts';

const COMPILED = import.meta.dirname;
const SOURCES = path.join(PROJECT, 'test');

/** How much longer a suite may take at its full size than in the long run. */
const FULL_FACTOR = 6;

export interface Suite {
  name: string;
  budgetSeconds: number;
  command: string[];
  /** The suite is left out where this is missing, unless the variable CI is set. */
  needs?: Need;
  /** Its processes count the branches that they take (coverage.ts). */
  isCounted?: boolean;
  /** Measures what other load would spoil: runs after the others, with nothing beside it. */
  isAlone?: boolean;
}

interface Need {
  what: string;
  isThere: () => boolean;
}

interface SuiteOptions {
  /** Time budget in `npm test`. */
  seconds: number;
  /** Time budget in `npm run test:long`. */
  longSeconds?: number;
  /** Whether its processes count the branches that they take, which costs a little time. */
  isCounted?: boolean;
  /** Test files that run side by side; fewer in the long run, whose tests load the machine. */
  filesAtATime?: number;
  /** In `npm test` its files share a process (together.ts): they only compute, and leave nothing behind. */
  isTogether?: boolean;
  /** Paths within the suite of files whose tests are all LONG_ONLY: what they start for all their tests is not started in vain. */
  longFiles?: readonly string[];
}

/** Every *.test.ts below a folder of test/; in the long run, only tests with a long size. */
function testSuite(name: string, options: SuiteOptions): Suite {
  const { seconds, longSeconds = seconds, filesAtATime = 1, isCounted = false } = options;
  const left = isLongRun ? [] : (options.longFiles ?? []);
  for (const each of left) checkIsLong(path.join(SOURCES, name, `${each}.test.ts`));
  const nameOf = (file: string) => path.relative(path.join(COMPILED, name), file);
  const files = listTests(name).filter(
    (file) => !left.includes(nameOf(file).slice(0, -'.test.js'.length)),
  );
  return {
    name,
    budgetSeconds: scale(seconds, longSeconds, FULL_FACTOR * longSeconds),
    isCounted: isCounted && !isLongRun,
    command:
      files.length === 0 ? [] : [process.execPath, ...runnerOf(options, filesAtATime), ...files],
  };
}

function runnerOf({ isTogether }: SuiteOptions, filesAtATime: number): string[] {
  const apart = ['--test', '--test-reporter=spec', `--test-concurrency=${filesAtATime}`];
  if (isLongRun) return [...apart, '--test-only'];
  return isTogether ? ['--test-reporter=spec', path.join(COMPILED, 'together.js')] : apart;
}

/** Compiled files, by their sources: the build may still hold tests that were renamed or deleted. */
function listTests(suite: string): string[] {
  const sources = readdirSync(path.join(SOURCES, suite), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .sort();
  if (sources.length === 0) throw new Error(`the suite ${suite} has no tests`);
  return (
    sources
      // Asked in either run: a file without the option is found before the long run.
      .filter((file) => hasLongSize(path.join(SOURCES, suite, file)) || !isLongRun)
      .map((file) => path.join(COMPILED, suite, file.replace(/ts$/, 'js')))
  );
}

function hasLongSize(file: string): boolean {
  const text = readFileSync(file, 'utf8');
  const hasSizes = /from '(\.\.?\/)+scale\.ts'/.test(text);
  const isInLongRun = /ALSO_LONG|LONG_ONLY/.test(text);
  const isInFullRun = isInLongRun || /ALSO_FULL|FULL_ONLY/.test(text);
  if (hasSizes && !isInFullRun) {
    throw new Error(`${file}: no test has the option ALSO_LONG, ALSO_FULL, LONG_ONLY or FULL_ONLY`);
  }
  return hasSizes && scale(false, isInLongRun, isInFullRun);
}

/** A test without the option would run nowhere: neither run takes it. */
function checkIsLong(file: string): void {
  const text = readFileSync(file, 'utf8');
  const tests = text.match(/^ *(browserTest|screenTest|test)\(/gm)?.length ?? 0;
  const long = text.replace(/^import [^;]*;/gm, '').match(/\b(LONG|FULL)_ONLY\b/g)?.length ?? 0;
  if (long < tests) throw new Error(`${file}: every test needs the option LONG_ONLY or FULL_ONLY`);
}

function programs(...names: string[]): Need {
  return {
    what: `${names.join(' and ')} (on Debian: apt-get install ${names.join(' ')})`,
    isThere: () => names.every((name) => spawnSync(name, ['-v']).error === undefined),
  };
}

/** A mount namespace of its own, which users other than root may have where the system allows it. */
const OWN_MOUNTS = ['unshare', '--map-root-user', '--mount'];

/** Lets the tests mount disks that nobody else sees and that disappear with the suite. */
function mountingSuite(suite: Suite): Suite {
  const [first, ...tryMount] = [...OWN_MOUNTS, 'mount', '-t', 'tmpfs', 'perpinfo-test', '/mnt'];
  const isThere = () => spawnSync(first, tryMount).status === 0;
  const needs = { what: 'permission to mount a tmpfs (root, or user namespaces)', isThere };
  const command = suite.command.length === 0 ? [] : [...OWN_MOUNTS, ...suite.command];
  return { ...suite, command, needs };
}

/** Files whose demos can be followed: their tests ask a follower then. */
const FOLLOWED: readonly string[] = scale(
  [],
  ['clients/sdk'],
  [
    'clients/ccxt',
    'clients/python-client',
    'clients/sdk',
    'clients/versions',
    'browser/screens/accessibility',
    'browser/behaviour',
    'browser/board/board',
    'browser/account/figures',
  ],
);

/** Another perpinfo as the upstream of a follower: the tests of demos again. */
const FOLLOWED_DEMOS: Suite = {
  name: 'followed demos',
  budgetSeconds: scale(0, 240, 900),
  command:
    FOLLOWED.length === 0
      ? []
      : [
          ...['env', 'PERPTEST_FOLLOWED=true', process.execPath],
          ...['--test', '--test-reporter=spec', '--test-concurrency=1'],
          ...FOLLOWED.map((file) => path.join(COMPILED, `${file}.test.js`)),
        ],
};

const ENDURANCE: Suite = isLongRun
  ? { ...testSuite('endurance', { seconds: 0, longSeconds: 360 }), isAlone: true }
  : { name: 'endurance', budgetSeconds: 0, command: [] };

/**
 * The long run looks for what is not used, and for names of the browser in the sources, which the build of
 * the tests allows.
 */
const LINT: Suite = {
  name: 'lint',
  budgetSeconds: 120,
  command: ['npm', 'run', '--silent', scale('lint', 'lint:unused')],
};

/** Longest first, so that the last one running is a short one. */
const ALL: Suite[] = [
  LINT,
  {
    ...testSuite('cluster', {
      ...{ seconds: 240, longSeconds: 360, filesAtATime: 3, isCounted: true },
      longFiles: ['replicas'],
    }),
    needs: programs('nats-server', 'nginx'),
  },
  testSuite('follow', {
    ...{ seconds: 240, longSeconds: 400, filesAtATime: 2 },
    longFiles: ['follow-process'],
  }),
  testSuite('browser', {
    ...{ seconds: 360, longSeconds: 480, filesAtATime: 2 },
    longFiles: [
      'account/all-dexes',
      'account/auction',
      'account/past',
      'account/what-if',
      'board/alarms',
      'board/board',
      'board/board-figures',
      'board/board-print',
      'day/day-chart',
      'day/day-freshness',
      'followed',
      'links',
      'push',
      'screens/screens-axe',
      'screens/screens-board',
      'screens/screens-use',
      'screens/screens-warn',
      'screens/sight',
      'screens/units',
      'stored',
      'tab',
    ],
  }),
  FOLLOWED_DEMOS,
  ENDURANCE,
  testSuite('lane', { seconds: 300, longSeconds: 480, filesAtATime: 2 }),
  testSuite('service', { seconds: 300, filesAtATime: 2 }),
  testSuite('http', { seconds: 240, longSeconds: 360, filesAtATime: scale(2, 1) }),
  testSuite('conformance', { seconds: 120 }),
  testSuite('push', { seconds: 240, longSeconds: 360, filesAtATime: scale(2, 1) }),
  testSuite('hostile', { seconds: 360, filesAtATime: scale(2, 1) }),
  testSuite('cli', { seconds: 240, filesAtATime: scale(3, 2) }),
  testSuite('clients', { seconds: 240, filesAtATime: scale(2, 1) }),
  mountingSuite(testSuite('disk', { seconds: 180, filesAtATime: 2, isCounted: true })),
  testSuite('crash', { seconds: 180, longSeconds: 360, longFiles: ['limits'] }),
  testSuite('archive', { seconds: 180, longSeconds: 300, filesAtATime: 2 }),
  testSuite('backup', { seconds: 120, longSeconds: 300, longFiles: ['kill'] }),
  testSuite('upgrade', { seconds: 60 }),
  testSuite('simulation', { seconds: 120, longSeconds: 300, filesAtATime: 2 }),
  testSuite('replica', { seconds: 180, longSeconds: 300, filesAtATime: 2, isCounted: true }),
  testSuite('twin', { seconds: 180, longSeconds: 300, filesAtATime: 2, isTogether: true }),
  testSuite('docs', { seconds: 180, filesAtATime: scale(2, 1) }),
  testSuite('upstream', { seconds: 240, filesAtATime: 2, isTogether: true }),
  testSuite('ledger', { seconds: 180, isCounted: true }),
  testSuite('state', { seconds: 120, isTogether: true, isCounted: true }),
  testSuite('cases', { seconds: 60, isTogether: true, isCounted: true }),
  testSuite('exact', { seconds: 60, isTogether: true, isCounted: true }),
  testSuite('events', { seconds: 60, isTogether: true, isCounted: true }),
  testSuite('info', { seconds: 120, isTogether: true, isCounted: true }),
  testSuite('feed', { seconds: 60, isTogether: true }),
  testSuite('timing', { seconds: 60, isTogether: true }),
  testSuite('simulator', { seconds: 120, isTogether: true }),
  testSuite('mutations', { seconds: 60, longSeconds: 240 }),
  testSuite('structure', { seconds: 60 }),
  testSuite('web', { seconds: 120, isTogether: true }),
];

export const SUITES: readonly Suite[] = ALL.filter(({ command }) => command.length > 0);
