/** Reading the project's documents: their text, sections and fenced blocks. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../../tools/harness/paths.ts';

export function readDocument(name: string): string {
  return readFileSync(path.join(PROJECT, name), 'utf8');
}

/** Every document of the project, by its path. */
export function listDocuments(): string[] {
  const pages = readdirSync(path.join(PROJECT, 'docs'), { recursive: true, encoding: 'utf8' });
  const names = [
    ...readdirSync(PROJECT),
    'test/README.md',
    ...pages.map((page) => path.join('docs', page)),
  ];
  return names.filter((name) => name.endsWith('.md')).sort();
}

/** The fenced blocks of a language, in order. */
export function fencedBlocks(document: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm');
  return Array.from(document.matchAll(pattern), ([, text]) => text);
}

/** The text without its fenced blocks, in which headings and links mean nothing. */
export function withoutFences(document: string): string {
  return document.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
}

/** The text below each heading of a level, up to the next heading of that level or above. */
export function readSections(document: string, level: number): Map<string, string> {
  const heading = new RegExp(`^#{1,${level}} `, 'm');
  const starts = [...document.matchAll(new RegExp(`^#{${level}} (.*)\\n`, 'gm'))];
  return new Map(
    starts.map(({ 0: line, 1: title, index }) => {
      const rest = document.slice(index + line.length);
      const end = rest.search(heading);
      return [title, end === -1 ? rest : rest.slice(0, end)];
    }),
  );
}
