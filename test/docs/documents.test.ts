/** The form of the documents: length, paragraphs, tables, links, and what they name in the code. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { formatConfiguration } from '../../src/cli/configuration-page.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { listDocuments, readDocument, withoutFences } from './documents.ts';

const DOCUMENTS = listDocuments();
const LINES_MAX = { 'README.md': 100, 'ARCHITECTURE.md': 150 };
const LINE_LENGTH_MAX = 120;
const PARAGRAPH_LINES_MAX = 6;
/** A longer row is read sideways. */
const ROW_LENGTH_MAX = 280;

function isRow(line: string): boolean {
  return line.startsWith('|');
}

/** Paragraphs and items of lists, each as its lines. */
function readParagraphs(document: string): string[][] {
  const lines = withoutFences(document).split('\n');
  const paragraphs: string[][] = [[]];
  for (const line of lines) {
    if (/^\s*$|^#|^\||^ {4}/.test(line)) paragraphs.push([]);
    else if (/^ *(?:-|\d+\.) /.test(line)) paragraphs.push([line]);
    else paragraphs.at(-1)?.push(line);
  }
  return paragraphs;
}

test('README.md and ARCHITECTURE.md are short', () => {
  for (const [name, linesMax] of Object.entries(LINES_MAX)) {
    const count = readDocument(name).trimEnd().split('\n').length;
    assert.ok(count <= linesMax, `${name} has ${count} lines, expected at most ${linesMax}`);
  }
});

test('paragraphs have at most six lines, and lines a length that is read at once', () => {
  for (const name of DOCUMENTS) {
    for (const paragraph of readParagraphs(readDocument(name))) {
      assert.ok(paragraph.length <= PARAGRAPH_LINES_MAX, `${name}: ${paragraph[0]}`);
    }
  }
  const long = DOCUMENTS.flatMap((name) =>
    readParagraphs(readDocument(name))
      .flat()
      .filter((line) => line.length > LINE_LENGTH_MAX)
      .map((line) => `${name}: ${line.length} characters: ${line}`),
  );
  assert.deepEqual(long, [], `lines have at most ${LINE_LENGTH_MAX} characters`);
});

test('rows of tables are not padded, and not too long', () => {
  for (const name of DOCUMENTS) {
    for (const row of withoutFences(readDocument(name)).split('\n').filter(isRow)) {
      assert.ok(!/ {2}|-{4}/.test(row), `${name}: ${row}`);
      assert.ok(row.length <= ROW_LENGTH_MAX, `${name}: ${row.length} characters: ${row}`);
    }
  }
});

/** The anchors of a document's headings, as GitHub makes them. */
function readAnchors(document: string): Set<string> {
  const headings = withoutFences(document).matchAll(/^#+ (.*)$/gm);
  return new Set(
    Array.from(headings, ([, title]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

test('links lead to files and headings that exist', () => {
  for (const name of DOCUMENTS) {
    const links = withoutFences(readDocument(name)).matchAll(/\]\(([^)\s]+)\)/g);
    for (const [, link] of links) {
      if (/^https?:/.test(link)) continue;
      const [target, anchor] = link.split('#');
      const file = target === '' ? name : path.join(path.dirname(name), target);
      assert.ok(existsSync(path.join(PROJECT, file)), `${name}: ${link}`);
      if (anchor === undefined) continue;
      assert.ok(readAnchors(readDocument(file)).has(anchor), `${name}: ${link}`);
    }
  }
});

/** Files that the changelog names may be gone by now. */
const PRESENT = DOCUMENTS.filter((name) => name !== 'CHANGELOG.md');

test('files and folders that the documents name exist', () => {
  for (const name of PRESENT) {
    const text = withoutFences(readDocument(name)).replaceAll(/\]\([^)]*\)/g, ']');
    for (const [named] of text.matchAll(
      /(?<![\w/.-])(?:src|test|bench|web|deploy|docs|bin|\.ci)\/[\w./-]*\w/g,
    )) {
      assert.ok(existsSync(path.join(PROJECT, named)), `${name}: ${named}`);
    }
  }
});

test('scripts that the documents name exist', () => {
  const { scripts } = JSON.parse(readDocument('package.json'));
  for (const name of DOCUMENTS) {
    for (const [, script] of readDocument(name).matchAll(/npm run ([a-z:-]+)/g)) {
      assert.ok(script in scripts, `${name}: npm run ${script}`);
    }
  }
});

test('docs/reference/settings.md is what the table of settings gives: npm run docs:configuration', () => {
  assert.equal(readDocument('docs/reference/settings.md'), formatConfiguration());
});

test('settings that the documents name exist', () => {
  const known = new Set(readDocument('docs/reference/settings.md').match(/(?<=`)--[a-z-]+/g));
  for (const name of PRESENT.filter((document) =>
    /^(README|docs\/(?!internals\/dep))/.test(document),
  )) {
    for (const [, flag] of readDocument(name).matchAll(/`(--[a-z][a-z-]+)[ `]/g)) {
      assert.ok(known.has(flag) || OTHER_FLAGS.includes(flag), `${name}: ${flag}`);
    }
  }
});

/** Flags of other programs, and those that every command has. */
const OTHER_FLAGS = ['--help', '--quick'];

test('the code map names every file and folder of src', () => {
  const map = readDocument('ARCHITECTURE.md');
  for (const entry of readdirSync(path.join(PROJECT, 'src'), { withFileTypes: true })) {
    const name = entry.isDirectory() ? `\`src/${entry.name}/\`` : `\`src/${entry.name}\``;
    assert.ok(map.includes(`| ${name} |`), name);
  }
});

test('every dependency has its reason and an exact version', () => {
  const { dependencies, devDependencies } = JSON.parse(readDocument('package.json'));
  const reasons = readDocument('docs/internals/dependencies.md');
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(String(version), /^(npm:\S+@)?\d+\.\d+\.\d+$/, name);
    assert.match(reasons, new RegExp(`^\\|.*\`${name}\`.*\\|.*\\|$`, 'm'), name);
  }
});

const INTERNALS = 'docs/internals/';
const POINTS = ['For', 'Against', 'Cost'];

/** The pages of docs/internals, by their names in that folder. */
function listInternals(): readonly string[] {
  const pages = DOCUMENTS.filter((name) => name.startsWith(INTERNALS));
  assert.ok(pages.length > 0);
  return pages.map((name) => name.slice(INTERNALS.length));
}

test('the first page of docs/internals names every page, and every folder of src', () => {
  const first = readDocument(`${INTERNALS}README.md`);
  for (const page of listInternals()) {
    if (page !== 'README.md')
      assert.ok(first.includes(`](${page})`), `add ${page} to ${INTERNALS}README.md`);
  }
  for (const entry of readdirSync(path.join(PROJECT, 'src'), { withFileTypes: true })) {
    const name = entry.isDirectory() ? `\`src/${entry.name}/\`` : `\`src/${entry.name}\``;
    assert.ok(first.includes(name), name);
  }
});

/** The text of each decision: what stands below a heading of the third level, in a section of decisions. */
function readDecisions(document: string): readonly string[] {
  const sections = document.split(/^## /m).filter((section) => section.startsWith('Decisions'));
  return sections.flatMap((section) => section.split(/^### /m).slice(1));
}

test('every decision says what speaks for it, what speaks against it, and its cost', () => {
  for (const page of listInternals()) {
    for (const decision of readDecisions(readDocument(INTERNALS + page))) {
      const points = Array.from(decision.matchAll(/^- \*\*(\w+):\*\* \S/gm), ([, point]) => point);
      assert.deepEqual(points, POINTS, `${page}: ${decision.split('\n', 1)[0]}`);
    }
  }
});
