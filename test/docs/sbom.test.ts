/** The bill of materials names what the lockfile ships, with its hashes, and nothing else. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { readDocument } from './documents.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly hashes: readonly [{ readonly alg: string; readonly content: string }];
  readonly licenses: readonly unknown[];
  readonly purl: string;
}

const text = execFileSync('node', ['.ci/sbom.mjs'], { cwd: PROJECT, encoding: 'utf8' });
const bill = JSON.parse(text);
const components: readonly Component[] = bill.components;
const manifest = JSON.parse(readDocument('package.json'));

/** The packages that the page imports. */
function listBundled(): string[] {
  const folder = path.join(PROJECT, 'web/src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const names = files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => [
      ...readFileSync(path.join(folder, file), 'utf8').matchAll(
        /\bfrom '(@[^/']+\/[^/']+|[^.'@/]+)/g,
      ),
    ])
    .map(([, name]) => name);
  return [...new Set(names)].sort();
}

function describe(name: string, version: string, content: string): string {
  return `${name} ${version} ${content}`;
}

test('it has every package of the installation, whatever the platform, and those in the page', () => {
  const bundled = listBundled();
  assert.deepEqual(bundled, ['preact', 'uplot']);
  const locked = Object.entries<{ version: string; integrity: string; dev?: boolean }>(
    JSON.parse(readDocument('package-lock.json')).packages,
  )
    .map(([place, entry]) => ({ ...entry, name: place.split('node_modules/').at(-1) ?? '' }))
    .filter(({ name, dev }) => name !== '' && (!dev || bundled.includes(name)))
    .map(({ name, version, integrity }) =>
      describe(name, version, Buffer.from(integrity.slice(7), 'base64').toString('hex')),
    );
  const named = components.map(({ name, version, hashes: [hash] }) => {
    assert.equal(hash.alg, 'SHA-512');
    return describe(name, version, hash.content);
  });
  assert.deepEqual(named.sort(), locked.sort());
});

test('its dependencies begin with ours, and lead to every component', () => {
  const { component } = bill.metadata;
  assert.equal(component.purl, `pkg:npm/perpinfo@${manifest.version}`);
  const dependsOn = new Map<string, readonly string[]>(
    bill.dependencies.map(({ ref, dependsOn }: { ref: string; dependsOn: string[] }) => [
      ref,
      dependsOn,
    ]),
  );
  const direct = dependsOn.get(component['bom-ref'])?.map((ref) => nameOf(ref));
  const ours = [...Object.keys(manifest.dependencies), ...listBundled()].sort();
  assert.deepEqual(direct, ours);
  const reached = new Set<string>();
  const visit = (ref: string) => {
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const other of dependsOn.get(ref) ?? []) visit(other);
  };
  visit(component['bom-ref']);
  const unreached = components.filter((each) => !reached.has(each['bom-ref']));
  // An optional peer of ws: npm installs it because a package for development needs it.
  assert.deepEqual(
    unreached.map(({ name }) => name),
    ['bufferutil', 'node-gyp-build'],
  );
});

function nameOf(ref: string): string | undefined {
  return components.find((component) => component['bom-ref'] === ref)?.name;
}

test('it has a license for each, and neither times nor addresses of a registry', () => {
  for (const { name, licenses, purl } of components) {
    assert.equal(licenses.length, 1, name);
    assert.match(purl, /^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@[\w.-]+$/);
  }
  assert.equal(new Set(components.map((each) => each['bom-ref'])).size, components.length);
  assert.doesNotMatch(text, /registry|\.tgz|timestamp|serialNumber|\d{4}-\d\d-\d\dT/);
});

test('SECURITY.md has the number of packages', () => {
  const own = Object.keys(manifest.dependencies).length;
  assert.equal(own, 9, 'the page says nine');
  const all = components.length - listBundled().length;
  assert.ok(readDocument('SECURITY.md').includes(` are ours to choose, ${all} with`), `${all}`);
});
