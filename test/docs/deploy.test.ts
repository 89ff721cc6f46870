/** Dockerfile, compose.yaml and the Grafana dashboard, checked without a container. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { AggregatorRegistry, Registry } from 'prom-client';
import type { Command } from '../../src/cli/command.ts';
import { append } from '../../src/cli/commands/append.ts';
import { demo } from '../../src/cli/commands/demo.ts';
import { keysCreate } from '../../src/cli/commands/keys.ts';
import { serve } from '../../src/cli/commands/serve.ts';
import { readSettings, splitArguments } from '../../src/config/read-settings.ts';
import { listSettings } from '../../src/config/setting.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { NO_TYPE } from '../../src/http/message/reply.ts';
import { FollowMetrics } from '../../src/service/metrics/follow-metrics.ts';
import { addMemoryMetrics } from '../../src/service/metrics/memory-metrics.ts';
import { Metrics } from '../../src/service/metrics/metrics.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { STATUS } from '../upstream/channel/conformance.ts';
import { LiveService } from './live-service.ts';

function readLines(name: string): string[] {
  return readFileSync(path.join(PROJECT, name), 'utf8').split('\n');
}

/** An instruction of the Dockerfile with its arguments; continuation lines are joined. */
interface Instruction {
  readonly name: string;
  readonly words: readonly string[];
}

function readInstructions(): Instruction[] {
  const text = readFileSync(path.join(PROJECT, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [name, ...words] = line.split(' ');
    return { name, words };
  });
}

const INSTRUCTIONS = readInstructions();
/** The instructions of the final stage. */
const FINAL = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex(({ name }) => name === 'FROM'));

function instructionsNamed(name: string, from = FINAL): (readonly string[])[] {
  return from.filter((instruction) => instruction.name === name).map(({ words }) => words);
}

/** The arguments of an instruction in exec form: CMD ["serve"]. */
function readArray(words: readonly string[]): string[] {
  return JSON.parse(words.join(' '));
}

function imageEnvironment(): Record<string, string> {
  const pairs = instructionsNamed('ENV').flat();
  return Object.fromEntries(pairs.map((pair) => pair.split('=')));
}

test('what the Dockerfile copies exists and is not in .dockerignore', () => {
  const ignored = readLines('.dockerignore');
  const copies = instructionsNamed('COPY', INSTRUCTIONS);
  const copied = copies
    .filter(([first]) => !first.startsWith('--from='))
    .map((c) => c.slice(0, -1));
  assert.ok(copied.flat().includes('src'));
  for (const name of copied.flat()) {
    assert.ok(existsSync(path.join(PROJECT, name)), name);
    assert.ok(!ignored.includes(name), `${name} is in .dockerignore`);
  }
});

test('the image runs the program on node:24-slim, not as root', () => {
  const { bin } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8'));
  assert.deepEqual(instructionsNamed('FROM'), [['node:24-slim']]);
  assert.deepEqual(instructionsNamed('USER'), [['node']]);
  const lastChange = FINAL.findLastIndex(({ name }) => name === 'RUN' || name === 'COPY');
  assert.ok(FINAL.findIndex(({ name }) => name === 'USER') > lastChange);
  assert.deepEqual(readArray(instructionsNamed('ENTRYPOINT')[0]), ['node', bin.perpinfo]);
});

test("the image's settings and ports are those of the service", () => {
  const { NODE_ENV, ...variables } = imageEnvironment();
  assert.equal(NODE_ENV, 'production');
  const known = listSettings(serve.settings).map(({ variable }) => variable);
  for (const variable of Object.keys(variables)) assert.ok(known.includes(variable), variable);
  assert.deepEqual(readArray(instructionsNamed('CMD')[0]), [serve.name]);
  const { port, adminPort, data } = readSettings(serve.settings, new Map(), variables);
  assert.deepEqual(instructionsNamed('EXPOSE'), [[`${port}`, `${adminPort}`]]);
  assert.deepEqual(instructionsNamed('VOLUME'), [[data]]);
  assert.ok(healthCheck()[2].includes(`parseInt(process.env.PERPINFO_PORT) || ${port})`));
});

/** The command of the health check: node -e SCRIPT. */
function healthCheck(): string[] {
  const [words] = instructionsNamed('HEALTHCHECK');
  return readArray(words.slice(words.indexOf('CMD') + 1));
}

async function runHealthCheck(port: number): Promise<number | null> {
  const [, ...args] = healthCheck();
  const environment = { ...process.env, PERPINFO_PORT: String(port) };
  const [code] = await once(spawn(process.execPath, args, { env: environment }), 'exit');
  return code;
}

test("the image's health check passes while the service is healthy, and fails when it is gone", async () => {
  const service = await LiveService.start();
  try {
    assert.equal(await runHealthCheck(service.port), 0);
  } finally {
    await service.close();
  }
  assert.equal(await runHealthCheck(service.port), 1);
});

const COMPOSE = readLines('compose.yaml');
const COMMANDS: readonly Command[] = [serve, demo, append, keysCreate];

/** Parses a command line with the image's environment; throws for unknown commands and settings. */
function readCommandLine(line: string) {
  const command = COMMANDS.find(({ name }) => line === name || line.startsWith(`${name} `));
  assert.ok(command, line);
  const words = line.slice(command.name.length).split(' ').filter(Boolean);
  return readSettings(
    command.settings,
    splitArguments(words, command.settings).flags,
    imageEnvironment(),
  );
}

/** The lines nested below a key, which is given with its indentation. */
function linesBelow(key: string): string[] {
  const start = COMPOSE.indexOf(`${key}:`);
  assert.notEqual(start, -1, key);
  const depth = key.search(/\S/);
  const rest = COMPOSE.slice(start + 1).filter((line) => line.trim() !== '');
  const end = rest.findIndex((line) => line.search(/\S/) <= depth);
  return rest.slice(0, end === -1 ? rest.length : end);
}

function namesBelow(key: string): string[] {
  return linesBelow(key).flatMap((line) => /^ {2}(\w+):$/.exec(line)?.[1] ?? []);
}

test('compose.yaml consists of keys and items, each nested at most one level deeper than the last', () => {
  let depth = 0;
  for (const line of COMPOSE.filter((text) => !/^ *(#|$)/.test(text))) {
    assert.match(line, /^(?: {2})*(?:- \S.*|\w+:(?: \S.*)?)$/);
    const spaces = line.search(/\S/);
    assert.ok(spaces <= depth + 2, line);
    depth = spaces;
  }
});

test('compose.yaml runs commands that exist with settings that exist', () => {
  const commands = COMPOSE.flatMap((line) => /^ +command: (.*)$/.exec(line)?.[1] ?? []);
  assert.equal(commands.length, namesBelow('services').length);
  for (const command of commands) readCommandLine(command);
  const shown = COMPOSE.flatMap(
    (line) => /^# +docker compose exec .*?perpinfo.js (.*?)(?: <.*| {2,}.*)$/.exec(line)?.[1] ?? [],
  );
  assert.equal(shown.length, 2);
  for (const command of shown) readCommandLine(command);
});

function publishedPorts(service: string): string[] {
  return linesBelow(service).flatMap((line) => /^ +- "([\d.:]+)"$/.exec(line)?.[1] ?? []);
}

test('compose.yaml publishes the ports of the service, the metrics to this machine only', () => {
  const { port, adminPort } = readSettings(serve.settings, new Map(), imageEnvironment());
  const expected = [`${port}:${port}`, `127.0.0.1:${adminPort}:${adminPort}`];
  assert.deepEqual(publishedPorts('  perpinfo'), expected);
});

test('the demo in a container is published on the port that it prints', () => {
  const variables = linesBelow('  demo').flatMap((line) => {
    const [, name, value] = /^ +(PERPINFO_\w+): "(.*)"$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value]];
  });
  const environment = { ...imageEnvironment(), ...Object.fromEntries(variables) };
  const { port } = readSettings(demo.settings, new Map(), environment);
  assert.deepEqual(publishedPorts('  demo'), [`127.0.0.1:${port}:${port}`]);
});

test('compose.yaml keeps the ledger in a declared volume, and its grace period exceeds the stop timeout', () => {
  const { data } = readSettings(serve.settings, new Map(), imageEnvironment());
  const service = linesBelow('  perpinfo').map((line) => line.trim());
  assert.ok(service.includes(`- data:${data}`));
  assert.deepEqual(namesBelow('volumes'), ['data']);
  const grace = /^stop_grace_period: (\d+)s$/m.exec(service.join('\n'))?.[1];
  assert.ok(Number(grace) * 1000 > HTTP_LIMITS.stopTimeout);
});

/** The names of all samples after the aggregation over workers. */
async function exportedNames(): Promise<Set<string>> {
  const registry = new Registry();
  const metrics = new Metrics(registry);
  metrics.countRequests(NO_TYPE, 200, 0.001, 1);
  metrics.setLedger(1, 1);
  const counters = { mismatches: { szi: 1 }, surprises: { szi: 1 } };
  new FollowMetrics(registry, () => ({ ...STATUS, counters }));
  addMemoryMetrics(registry, () => [{ role: 'worker', pid: process.pid }]);
  const ofWorkers = [await registry.getMetricsAsJSON(), await registry.getMetricsAsJSON()];
  const text = await AggregatorRegistry.aggregate(ofWorkers).metrics();
  return new Set(Array.from(text.matchAll(/^(\w+)[ {]/gm), ([, name]) => name));
}

test('the alarms use metrics that are documented, and look at both signs of the lag', () => {
  const text = readFileSync(path.join(PROJECT, 'deploy/alerts.yaml'), 'utf8');
  const documented = readFileSync(path.join(PROJECT, 'docs/reference/metrics.md'), 'utf8');
  const rules = Array.from(text.matchAll(/^ +expr: (.+)$/gm), ([, rule]) => rule);
  const names = rules.flatMap((rule) => rule.match(/perpinfo_\w+/g) ?? []);
  assert.ok(names.length >= rules.length);
  for (const name of names) assert.ok(documented.includes(`| \`${name}\` |`), name);
  for (const rule of ['perpinfo_ledger_lag_seconds > 30', 'perpinfo_ledger_lag_seconds < -30']) {
    assert.ok(rules.includes(rule), rule);
  }
});

test('the documents and the shipped cluster name versions of NATS that agree', () => {
  const documented = readFileSync(path.join(PROJECT, 'docs/guide/several-machines.md'), 'utf8');
  const [, needed] = /jetstream\),\s+server\s+(\d+\.\d+)\.\d+\s+or\s+later/.exec(documented) ?? [];
  const images = readLines('deploy/cluster/compose.yaml').flatMap(
    (line) => /image: nats:(\d+\.\d+)-/.exec(line)?.[1] ?? [],
  );
  assert.deepEqual([...new Set(images)], [needed]);
  const comments = readFileSync(path.join(PROJECT, 'deploy/cluster/nats.conf'), 'utf8');
  assert.ok(comments.includes(`Needs version ${needed}`));
});

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
  readonly gridPos: { readonly x: number; readonly w: number };
}

test('the Grafana dashboard queries only metrics that the service exports', async () => {
  const text = readFileSync(path.join(PROJECT, 'deploy/grafana.json'), 'utf8');
  const { panels } = JSON.parse(text) as { panels: Panel[] };
  const exported = await exportedNames();
  for (const { title, targets, gridPos } of panels) {
    const names = targets.flatMap(({ expr }) => expr.match(/perpinfo_\w+/g) ?? []);
    assert.ok(names.length > 0, title);
    for (const name of names) assert.ok(exported.has(name), `${title}: ${name}`);
    assert.ok(gridPos.x + gridPos.w <= 24, title);
  }
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
});
