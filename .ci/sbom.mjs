/**
 * Prints the software bill of materials (CycloneDX 1.5) of the package: what it runs with, of every
 * platform, and what is bundled into the page. It is made from the lockfile alone, so the same commit
 * gives the same bytes; npm's own has a time, a random number and the packages of one machine.
 */

import { readFileSync } from 'node:fs';

/** Built into the page, and so part of the package although they are no dependencies of it. */
const BUNDLED = ['preact', 'uplot'];

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const root = packages[''];

function nameOf(place) {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function purlOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function licensesOf(license) {
  return [
    / (?:OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } },
  ];
}

function componentOf([place, { version, license, integrity, optional }]) {
  const name = nameOf(place);
  const [algorithm, hash] = integrity.split('-');
  return {
    type: 'library',
    'bom-ref': refOf(place),
    name,
    version,
    scope: optional ? 'optional' : 'required',
    hashes: [
      {
        alg: algorithm.replace('sha', 'SHA-'),
        content: Buffer.from(hash, 'base64').toString('hex'),
      },
    ],
    licenses: licensesOf(license),
    purl: purlOf(name, version),
  };
}

/** A package may be there several times, in different places. */
function refOf(place) {
  return place === '' ? `${root.name}@${root.version}` : `${place}@${packages[place].version}`;
}

/** Where a package finds another: in its own node_modules, or in one further up. */
function resolve(place, name) {
  for (let folder = place; ; folder = folder.slice(0, folder.lastIndexOf('node_modules/'))) {
    const found = `${folder.replace(/\/?$/, folder === '' ? '' : '/')}node_modules/${name}`;
    if (found in packages) return found;
    if (folder === '') return undefined;
  }
}

function isShipped([place, { dev }]) {
  return place !== '' && (!dev || BUNDLED.includes(nameOf(place)));
}

const shipped = Object.entries(packages).filter(isShipped);
const places = new Set(shipped.map(([place]) => place));

function dependenciesOf([place, { dependencies = {}, optionalDependencies = {} }]) {
  const names = Object.keys({ ...dependencies, ...optionalDependencies });
  const found = names.map((name) => resolve(place, name)).filter((other) => places.has(other));
  const bundled = place === '' ? BUNDLED.map((name) => `node_modules/${name}`) : [];
  return { ref: refOf(place), dependsOn: [...found, ...bundled].map(refOf).sort() };
}

const bill = {
  $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': refOf(''),
      name: root.name,
      version: root.version,
      licenses: licensesOf(root.license),
      purl: purlOf(root.name, root.version),
    },
  },
  components: shipped.map(componentOf),
  dependencies: [['', root], ...shipped].map(dependenciesOf),
};
process.stdout.write(`${JSON.stringify(bill, undefined, 2)}\n`);
