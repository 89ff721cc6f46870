/** Holds the imports of src/ to the table in ARCHITECTURE.md, and finds circles between files. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { importedFiles, readSources } from './sources.ts';

const HEADING = '## Which folder may import which\n';
const ROW = /^\| (`[^|]*`) \| ([^|]*) \|$/gm;

/** By folder (`state/`) or file (`main.ts`) of src/: what it may import beside itself. */
type ImportTable = ReadonlyMap<string, readonly string[]>;

function readTable(document: string): ImportTable {
  const start = document.indexOf(HEADING);
  assert.notEqual(start, -1, `no section "${HEADING.trim()}"`);
  const end = document.indexOf('\n## ', start + HEADING.length);
  const table = new Map<string, string[]>();
  for (const [, place, allowed] of document.slice(start, end).matchAll(ROW)) {
    const above = [...table.keys()];
    table.set(unquote(place), readAllowed(allowed, above));
  }
  return table;
}

function readAllowed(text: string, above: string[]): string[] {
  if (text === 'nothing') return [];
  if (text === 'all of the above') return above;
  return text.split(' ').map(unquote);
}

function unquote(text: string): string {
  assert.match(text, /^`[^`]+`$/, 'a folder in backquotes');
  return text.slice(1, -1);
}

/** The row that speaks of a file: the one with the longest path. */
function placeOf(file: string, table: ImportTable): string {
  const places = [...table.keys()].filter((place) => file.startsWith(place));
  const place = places.sort((a, b) => b.length - a.length).at(0);
  assert.ok(place !== undefined, `${file} is in no folder of the table`);
  return place;
}

type ImportGraph = ReadonlyMap<string, readonly string[]>;

function readGraph(): ImportGraph {
  const sources = [...readSources()];
  return new Map(sources.map(([file, text]) => [file, importedFiles(file, text)]));
}

/** Each import that the table forbids, with the pair of folders that it connects. */
function findForbidden(graph: ImportGraph, table: ImportTable) {
  const found: { pair: string; where: string }[] = [];
  for (const [file, imports] of graph) {
    const from = placeOf(file, table);
    for (const imported of imports) {
      const to = placeOf(imported, table);
      if (to === from || table.get(from)?.includes(to)) continue;
      found.push({ pair: `${from} -> ${to}`, where: `${file} imports ${imported}` });
    }
  }
  return found;
}

/** A circle of imports as `a -> b -> a`, or undefined: depth first, each file once. */
function findCircle(graph: ImportGraph): string | undefined {
  const finished = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): string | undefined => {
    if (finished.has(file)) return undefined;
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file].join(' -> ');
    trail.push(file);
    for (const imported of graph.get(file) ?? []) {
      const circle = visit(imported);
      if (circle !== undefined) return circle;
    }
    trail.pop();
    finished.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/**
 * The imports between the sub-folders of each folder, as a graph of the sub-folders by their paths. Files
 * that lie directly in the folder do not count: they connect its sub-folders.
 */
function readFolderGraph(graph: ImportGraph): ImportGraph {
  const folders = new Map<string, string[]>();
  for (const [file, imports] of graph) {
    for (const imported of imports) {
      const [from, to] = findSiblings(file, imported);
      if (from === undefined || to === undefined) continue;
      const found = folders.get(from) ?? [];
      folders.set(from, found);
      if (!found.includes(to)) found.push(to);
    }
  }
  return folders;
}

/** The two sub-folders of the innermost folder that holds both files; none for files directly in it. */
function findSiblings(file: string, imported: string): readonly string[] {
  const [from, to] = [file.split('/'), imported.split('/')];
  const depth = from.findIndex((name, index) => name !== to[index]);
  const isLoose = depth === -1 || depth >= from.length - 1 || depth >= to.length - 1;
  return isLoose ? [] : [from, to].map((parts) => `${parts.slice(0, depth + 1).join('/')}/`);
}

const table = readTable(readFileSync(path.join(PROJECT, 'ARCHITECTURE.md'), 'utf8'));
const graph = readGraph();

test('imports between folders are those that ARCHITECTURE.md allows', () => {
  assert.deepEqual(findForbidden(graph, table), []);
});

test('every folder of the table has files, and lists only folders of the table', () => {
  const used = new Set([...graph.keys()].map((file) => placeOf(file, table)));
  assert.deepEqual([...table.keys()].sort(), [...used].sort());
  for (const allowed of table.values()) {
    for (const place of allowed) assert.ok(table.has(place), place);
  }
});

test('no file imports itself through others', () => {
  assert.equal(findCircle(graph), undefined);
});

test('no sub-folder of a folder imports itself through its siblings', () => {
  assert.equal(findCircle(readFolderGraph(graph)), undefined);
});

test('the checks find what they look for', () => {
  const rows = ['`a/` | nothing', '`b/c/` | nothing', '`b/` | `a/` `b/c/`', '`main.ts` | `b/`'];
  const small = readTable(`${HEADING}\n${rows.map((row) => `| ${row} |`).join('\n')}\n\n## Next\n`);
  const imports = new Map([
    ['a/one.ts', ['a/two.ts', 'main.ts']],
    ['a/two.ts', ['a/three.ts']],
    ['a/three.ts', ['a/one.ts']],
    ['b/c/deep.ts', ['b/shallow.ts']],
    ['b/shallow.ts', ['a/one.ts', 'b/c/deep.ts']],
    ['main.ts', []],
  ]);
  const pairs = findForbidden(imports, small).map(({ pair }) => pair);
  assert.deepEqual(pairs, ['a/ -> main.ts', 'b/c/ -> b/']);
  assert.equal(findCircle(imports), 'a/one.ts -> a/two.ts -> a/three.ts -> a/one.ts');
  const folders = new Map([
    ['a/b/one.ts', ['a/c/two.ts', 'a/loose.ts']],
    ['a/c/two.ts', ['a/c/three.ts']],
    ['a/c/three.ts', ['a/b/four.ts', 'd/five.ts']],
    ['a/loose.ts', ['a/b/one.ts']],
  ]);
  assert.equal(findCircle(readFolderGraph(folders)), 'a/b/ -> a/c/ -> a/b/');
});
