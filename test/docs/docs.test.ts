/** What the documents say is held against what the code does. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { formatConfiguration } from '../../src/config/configuration-page.ts';
import { EVENT_TYPES } from '../../src/events/event.ts';
import { MAIN, PROJECT } from '../paths.ts';

function readDocument(name: string): string {
  return readFileSync(path.join(PROJECT, name), 'utf8');
}

/** The fenced blocks of a language, in order. */
function fencedBlocks(document: string, language: string): string[] {
  const pattern = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g');
  return [...document.matchAll(pattern)].map(([, text]) => text);
}

test("the README's first question gets the README's answer, by the README's own commands", () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-docs-'));
  try {
    const blocks = fencedBlocks(readDocument('README.md'), 'sh');
    const example = blocks.find((block) => block.includes('perpinfo simulate')) ?? '';
    const script = example.replaceAll('npx perpinfo', `"${process.execPath}" "${MAIN}"`);
    const output = execFileSync('bash', ['-c', `set -o pipefail\n${script}`], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const answer = output.trim().split('\n').at(-1) ?? '';
    const [expected] = fencedBlocks(readDocument('README.md'), 'json');
    assert.deepEqual(JSON.parse(answer), JSON.parse(expected));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('docs/configuration.md is what the table of settings gives: npm run docs:configuration', () => {
  assert.equal(readDocument('docs/configuration.md'), formatConfiguration());
});

test('the README names every kind of event', () => {
  const readme = readDocument('README.md');
  for (const type of EVENT_TYPES) assert.ok(readme.includes(`\`${type}\``), type);
});

test('the code map names every file and folder of src', () => {
  const map = readDocument('ARCHITECTURE.md');
  for (const entry of readdirSync(path.join(PROJECT, 'src'), { withFileTypes: true })) {
    const name = entry.isDirectory() ? `\`src/${entry.name}/\`` : `\`src/${entry.name}\``;
    assert.ok(map.includes(name), name);
  }
});

test('what the documents link to is there', () => {
  const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
  for (const name of [...documents, 'docs/scaling.md']) {
    for (const [, target] of readDocument(name).matchAll(/\]\(([^)#:]+)\)/g)) {
      const place = path.join(PROJECT, path.dirname(name), target);
      assert.ok(existsSync(place), `${name}: ${target}`);
    }
  }
});

test('every dependency has its reason and an exact version', () => {
  const { dependencies, devDependencies } = JSON.parse(readDocument('package.json'));
  const architecture = readDocument('ARCHITECTURE.md');
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(String(version), /^(npm:\S+@)?\d+\.\d+\.\d+$/, name);
    assert.ok(architecture.includes(`\`${name}\``), name);
  }
});
