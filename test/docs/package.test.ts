/** A fresh checkout, and the package made from it. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { LONG_ONLY } from '../scale.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-package-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const MADE = ['.git', 'node_modules', 'dist', 'build', 'data'];
const checkout = path.join(folder, 'checkout');
cpSync(PROJECT, checkout, {
  recursive: true,
  filter: (source) => !MADE.includes(path.relative(PROJECT, source)),
});
// Linked instead of `npm ci`, which needs the registry and most of a minute.
const modules = path.join(PROJECT, 'node_modules');
symlinkSync(modules, path.join(checkout, 'node_modules'));

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function perpinfo(cwd: string, ...args: string[]): Ran {
  const { status, stdout, stderr } = spawnSync('npx', ['perpinfo', ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, npm_config_cache: path.join(folder, 'cache'), npm_config_yes: 'true' },
  });
  // npm's warnings about the machine's own settings do not count.
  return { code: status, stdout, stderr: stderr.replaceAll(/^npm warn .*\n/gm, '') };
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', PROJECT, ...args], { encoding: 'utf8' });
}

const { version } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8'));

test('without a build the program says how to build it', () => {
  const stderr = `perpinfo: not built yet; run "npm ci && npm run build" in ${checkout}/\n`;
  assert.deepEqual(perpinfo(checkout, '--version'), { code: 1, stdout: '', stderr });
});

/** What an installation of the package has: nothing that is for development only. */
function linkDependencies(place: string): void {
  const { packages } = JSON.parse(readFileSync(path.join(PROJECT, 'package-lock.json'), 'utf8'));
  for (const [name, { dev }] of Object.entries<{ dev?: boolean }>(packages)) {
    const isNested = name.lastIndexOf('node_modules/') > 0;
    const source = path.join(PROJECT, name);
    if (name === '' || dev || isNested || !existsSync(source)) continue;
    const link = path.join(place, name.slice('node_modules/'.length));
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(source, link);
  }
}

/** Starts the installed service on a ledger of its own, and returns the status of its health. */
async function askHealth(bin: string): Promise<number> {
  const data = path.join(folder, 'ledger');
  const blocks = execFileSync(bin, ['simulate', '--blocks', '3']);
  execFileSync(bin, ['append', '--data', data], { input: blocks });
  const flags = ['--data', data, '--port', '0', '--admin-port', '0', '--max-age', '0'];
  const service = spawn(bin, ['serve', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    for await (const line of createInterface(service.stdout)) {
      const { msg, address } = JSON.parse(line);
      if (msg === 'listening') return (await fetch(`${address}/health`)).status;
    }
    throw new Error('the service has ended');
  } finally {
    service.kill('SIGKILL');
  }
}

/** Packs the checkout, and unpacks the package as an installation would. */
function installPackage(): { files: string[]; place: string } {
  const packed = execFileSync('npm', ['pack', '--json'], {
    cwd: checkout,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const place = path.join(folder, 'installed');
  mkdirSync(place);
  const [{ filename, files }] = JSON.parse(packed);
  execFileSync('tar', ['-xzf', path.join(checkout, filename), '-C', place]);
  linkDependencies(path.join(place, 'node_modules'));
  return { files: files.map((file: { path: string }) => file.path), place: `${place}/package` };
}

test(
  'the package runs, and contains what its documents and source maps point to',
  LONG_ONLY,
  async () => {
    const { files, place } = installPackage();
    const bin = path.join(place, 'bin/perpinfo.js');
    assert.equal(execFileSync(bin, ['--version'], { encoding: 'utf8' }), `${version}\n`);
    assert.equal(await askHealth(bin), 200);
    const bill = readFileSync(path.join(place, 'sbom.cdx.json'), 'utf8');
    assert.equal(bill, execFileSync('node', ['.ci/sbom.mjs'], { cwd: PROJECT, encoding: 'utf8' }));
    assert.ok(files.includes('dist/web/index.html'));
    for (const name of ['LICENSE', 'README.md', 'CHANGELOG.md']) assert.ok(files.includes(name));
    for (const file of files) {
      for (const target of targetsIn(path.join(place, file))) {
        const pointed = path.join(path.dirname(file), target);
        const isThere = files.some((other) => other === pointed || other.startsWith(`${pointed}/`));
        assert.ok(isThere, `${file} points to ${target}`);
      }
    }
    // Packing has built the checkout.
    assert.deepEqual(perpinfo(checkout, '-v'), { code: 0, stdout: `${version}\n`, stderr: '' });
  },
);

/** The files that a document links to, or that a source map names. */
function targetsIn(file: string): string[] {
  if (file.endsWith('.md')) {
    const links = readFileSync(file, 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g);
    return Array.from(links, ([, target]) => target);
  }
  return file.endsWith('.map') ? JSON.parse(readFileSync(file, 'utf8')).sources : [];
}

test("the README's data folder and build output are ignored by git", () => {
  const ignored = ['data/ledger', 'dist/main.js', 'build/test', 'node_modules/x'];
  assert.equal(git('check-ignore', ...ignored), ignored.map((name) => `${name}\n`).join(''));
  assert.match(git('ls-files', '--stage', 'bin/perpinfo.js'), /^100755 /);
});
