/** What `npm ci` would warn of, read from the lockfile, for every supported Node and without the registry. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';

interface LockedPackage {
  readonly engines?: { readonly node?: string };
  readonly deprecated?: string;
  readonly hasInstallScript?: boolean;
  readonly resolved?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const MANIFEST = readJson('package.json');
const PACKAGES = Object.entries<LockedPackage>(readJson('package-lock.json').packages);
/** An early release of each supported Node; build tools need 22.13 of Node 22. */
const NODES = ['20.19.0', '22.13.0', '24.0.0', '26.0.0'];

function readJson(name: string) {
  return JSON.parse(readFileSync(path.join(PROJECT, name), 'utf8'));
}

/** Major, minor and patch; a missing part or an x is 0. */
function parseVersion(text: string): number[] {
  const parts = text.split('.').map((part) => (part === 'x' ? 0 : Number(part)));
  assert.ok(parts.every(Number.isInteger), text);
  return [...parts, 0, 0].slice(0, 3);
}

function isAtLeast(version: readonly number[], least: readonly number[]): boolean {
  const place = version.findIndex((part, index) => part !== least[index]);
  return place === -1 || version[place] > least[place];
}

/** Only the forms that our packages use: ">=20", "^20.19.0 || >=22.12.0", "20 || >=22". */
function satisfies(node: string, range: string): boolean {
  const version = parseVersion(node);
  return range.split('||').some((part) => {
    // A bare version, such as "20", stands for its major line.
    const [, operator = '^', text] = /^(>=|\^)?\s*(\d\S*)$/.exec(part.trim()) ?? [];
    assert.ok(text, `a range that this test does not know: ${range}`);
    const least = parseVersion(text);
    return isAtLeast(version, least) && (operator === '>=' || version[0] === least[0]);
  });
}

test('every package runs on every supported Node', () => {
  for (const [name, { engines }] of PACKAGES) {
    for (const node of NODES) {
      const range = engines?.node;
      assert.ok(range === undefined || satisfies(node, range), `${name} on ${node}: ${range}`);
    }
  }
});

test('every package, and what it needs in turn, is pinned to one version and one content', () => {
  const places = PACKAGES.filter(([place]) => place !== '');
  assert.ok(places.length > 200);
  for (const [place, { version = '', integrity = '', link }] of places) {
    assert.match(version, /^\d+\.\d+\.\d+(?:-[\w.]+)?$/, place);
    assert.match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, place);
    assert.equal(link, undefined, place);
  }
});

test('our own dependencies and overrides are exact versions', () => {
  for (const part of ['dependencies', 'devDependencies', 'overrides']) {
    for (const [name, version] of Object.entries<string>(MANIFEST[part])) {
      assert.match(version, /^(?:npm:@?[\w/-]+@)?\d+\.\d+\.\d+$/, name);
    }
  }
});

test('no install script may run, and none has built anything that is used', () => {
  const allowed = Object.entries(MANIFEST.allowScripts).filter(([, isAllowed]) => isAllowed);
  assert.deepEqual(allowed, []);
  for (const name of Object.keys(MANIFEST.allowScripts)) {
    const built = path.join(PROJECT, 'node_modules', name, 'build');
    assert.equal(existsSync(built), false, built);
  }
});

test('every install script of a package is allowed or denied explicitly', () => {
  const scripted = PACKAGES.filter(([, { hasInstallScript }]) => hasInstallScript).map(([place]) =>
    place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  assert.deepEqual(Object.keys(MANIFEST.allowScripts ?? {}), [...new Set(scripted)].sort());
});

test('no package is deprecated, and none names its registry', () => {
  for (const [name, { deprecated, resolved }] of PACKAGES) {
    assert.deepEqual([deprecated, resolved], [undefined, undefined], name);
  }
});

test('every optional dependency is locked, also for other platforms: npm ci refuses the rest', () => {
  const locked = new Set(PACKAGES.map(([place]) => place.split('node_modules/').at(-1)));
  for (const [name, { optionalDependencies = {} }] of PACKAGES) {
    const missing = Object.keys(optionalDependencies).filter((optional) => !locked.has(optional));
    assert.deepEqual(missing, [], name);
  }
});
