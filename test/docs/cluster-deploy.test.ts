/** The example deployment on several machines, checked without a container. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Command } from '../../src/cli/command.ts';
import { append } from '../../src/cli/commands/append.ts';
import { keysCreate } from '../../src/cli/commands/keys.ts';
import { serve } from '../../src/cli/commands/serve.ts';
import { readSettings, splitArguments } from '../../src/config/read-settings.ts';
import type { STORAGE_SETTINGS, StorageSettings } from '../../src/ledger/settings.ts';
import { PROJECT } from '../../tools/harness/paths.ts';

function readFile(name: string): string {
  return readFileSync(path.join(PROJECT, 'deploy/cluster', name), 'utf8');
}

const COMPOSE = readFile('compose.yaml');
const COMMANDS: readonly Command[] = [serve, append, keysCreate];

/** The text of each service, by its name. */
function readServices(): Map<string, string> {
  const [, services = ''] = COMPOSE.split(/^(?:services|volumes):$/m);
  const parts = services.split(/^ {2}(\w+):$/m).slice(1);
  const names = parts.filter((_, index) => index % 2 === 0);
  return new Map(names.map((name, index) => [name, parts[2 * index + 1]]));
}

const SERVICES = readServices();
const OURS = [...SERVICES].filter(([, text]) => text.includes('build: ../..'));

function namesLike(pattern: RegExp): string[] {
  return [...SERVICES.keys()].filter((name) => pattern.test(name));
}

function readVariables(text: string): Record<string, string> {
  const variables = [...text.matchAll(/^ +(PERPINFO_\w+): "?([^"\n]*)"?$/gm)];
  return Object.fromEntries(variables.map(([, name, value]) => [name, value]));
}

/** The settings of one of our services, parsed as the program does. */
function readServiceSettings(text: string): StorageSettings {
  const line = /^ +command: (.*)$/m.exec(text)?.[1] ?? '';
  const command = COMMANDS.find(({ name }) => line === name || line.startsWith(`${name} `));
  assert.ok(command, line);
  const environment = readVariables(text);
  const words = line.slice(command.name.length).split(' ').filter(Boolean);
  const { flags } = splitArguments(words, command.settings);
  return readSettings(command.settings as typeof STORAGE_SETTINGS, flags, environment);
}

test('the example has three NATS servers, one writer, two replicas and nginx', () => {
  assert.deepEqual(
    [...SERVICES.keys()],
    ['nats1', 'nats2', 'nats3', 'writer', 'replica1', 'replica2', 'nginx'],
  );
});

test("the example's commands and settings exist, and all have the same ledger", () => {
  assert.equal(OURS.length, 3);
  for (const [name, text] of OURS) {
    const { ledger, natsReplicas } = readServiceSettings(text);
    const servers = namesLike(/^nats/).map((server) => `${server}:4222`);
    assert.deepEqual(ledger?.servers, servers, name);
    assert.equal(ledger?.name, 'exchange');
    assert.equal(natsReplicas, 3);
  }
});

test('the replicas have a limit on how far behind their answers may be', () => {
  for (const name of namesLike(/^replica/)) {
    const { maxBehind } = readSettings(
      serve.settings,
      new Map(),
      readVariables(SERVICES.get(name) ?? ''),
    );
    assert.equal(maxBehind, 10_000);
  }
});

test('the NATS servers have routes to each other, and sync every write to disk', () => {
  const config = readFile('nats.conf');
  const routes = [...config.matchAll(/nats:\/\/(\w+):6222/g)].map(([, name]) => name);
  assert.deepEqual(routes, namesLike(/^nats/));
  assert.match(config, /^ {2}sync_interval: always$/m);
});

test('nginx proxies to every replica once it is healthy, and retries elsewhere on a 503', () => {
  const config = readFile('nginx.conf');
  const servers = [...config.matchAll(/^ +server (\w+):(\d+) max_fails=0;/gm)];
  assert.deepEqual(
    servers.map(([, name]) => name),
    namesLike(/^replica/),
  );
  const { port } = readSettings(serve.settings, new Map(), { PERPINFO_DATA: '/data' });
  for (const [, , upstream] of servers) assert.equal(Number(upstream), port);
  assert.match(config, /proxy_next_upstream error timeout http_503 non_idempotent;/);
  const nginx = SERVICES.get('nginx') ?? '';
  for (const name of namesLike(/^replica/)) {
    assert.match(nginx, new RegExp(`${name}:\\n +condition: service_healthy`));
  }
});

test('the proxies wait for longer than a sound service is silent, and not much longer', () => {
  const limits = readFileSync(path.join(PROJECT, 'docs/reference/limits.md'), 'utf8');
  const [, longSeconds] = /^\| time until a long answer is ready \| (\d+) s \|/m.exec(limits) ?? [];
  const settings = readSettings(serve.settings, new Map(), { PERPINFO_DATA: '/data' });
  const { minHeightWait, followWait, idleTimeout } = settings;
  const answerMs = Number(longSeconds) * 1000 + minHeightWait + followWait;
  const pingMs = idleTimeout / 3;
  for (const name of ['nginx.conf', '../machine/nginx.conf']) {
    const [, seconds] = /^ +proxy_read_timeout (\d+)s;$/m.exec(readFile(name)) ?? [];
    const waitMs = Number(seconds) * 1000;
    assert.ok(waitMs > answerMs && waitMs > pingMs, `${name}: ${waitMs} ms`);
    assert.ok(waitMs <= 1.25 * answerMs, `${name}: ${waitMs} ms`);
  }
});
