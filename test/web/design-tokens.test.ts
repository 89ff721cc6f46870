/** Custom properties and colours are in one file, for both themes. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';

const SOURCES = path.join(PROJECT, 'web/src');
const TOKENS = 'styles/tokens.css';
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(css|tsx?)$/.test(name))
  .map((name) => ({ name, text: readFileSync(path.join(SOURCES, name), 'utf8') }));
const tokens = files.find(({ name }) => name === TOKENS)?.text ?? '';

const namesIn = (text: string) => [...text.matchAll(/--([a-z-]+):/g)].map(([, name]) => name);
const usedIn = (text: string) =>
  [...text.matchAll(/var\(--([a-z-]+)\)|readToken\('([a-z-]+)'\)/g)].map(
    ([, inStyle, inCode]) => inStyle ?? inCode,
  );

test('only the file of design tokens declares custom properties and colours', () => {
  const others = files.filter(({ name, text }) => {
    const declares = /#[0-9a-f]{6}\b|\brgba?\(|\bhsla?\(/i.test(text) || namesIn(text).length > 0;
    return name !== TOKENS && declares;
  });
  assert.deepEqual(
    others.map(({ name }) => name),
    [],
  );
});

test('every design token is used, and every token that is used is declared', () => {
  const declared = new Set(namesIn(tokens));
  const used = new Set(files.flatMap(({ text }) => usedIn(text)));
  assert.deepEqual(
    [...used].filter((name) => !declared.has(name)),
    [],
  );
  assert.deepEqual(
    [...declared].filter((name) => !used.has(name) && !name.startsWith('icon-')),
    [],
  );
});

test('every token of the dark theme has a value in the light theme', () => {
  const [light, dark] = tokens.split('@media');
  const inLight = new Set(namesIn(light));
  assert.deepEqual(
    namesIn(dark).filter((name) => !inLight.has(name)),
    [],
  );
});
