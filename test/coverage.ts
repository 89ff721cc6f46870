/**
 * Branch coverage of the folders that every figure depends on, from what V8 has counted in the processes
 * of some suites. A branch is a block that V8 counts by itself, functions included, in the files that the
 * tests are compiled with. What only the built program takes is not counted: its files are others.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../tools/harness/paths.ts';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** A file that V8 writes when a process ends. */
interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

/** What one process has counted of one file. */
type Counted = readonly Range[];

interface Branch {
  readonly start: number;
  readonly end: number;
  isTaken: boolean;
}

interface FolderCoverage {
  readonly folder: string;
  readonly branches: number;
  readonly taken: number;
  /** By file: the lines of branches that were not taken, in the compiled file. */
  readonly missed: ReadonlyMap<string, readonly number[]>;
}

/** Folders of src/ whose branches are counted. */
const FOLDERS = ['exact', 'events', 'state', 'info', 'ledger'];
/** The share of each folder's branches that the counted suites take at least. */
const SHARE_MIN = 0.95;

function isEnough({ branches, taken }: FolderCoverage): boolean {
  return taken >= SHARE_MIN * branches;
}

/** Prints a line for each folder; false if one has less than its share. */
export function checkCoverage(place: string): boolean {
  const folders = readCoverage(place);
  for (const coverage of folders) printCoverage(coverage);
  return folders.every(isEnough);
}

function printCoverage(coverage: FolderCoverage): void {
  const { folder, branches, taken, missed } = coverage;
  const percent = ((100 * taken) / branches).toFixed(1);
  const verdict = isEnough(coverage) ? '' : `, FAILED: at least ${100 * SHARE_MIN} %`;
  console.log(`branches of ${folder}/: ${percent} % (${taken} of ${branches})${verdict}`);
  if (isEnough(coverage)) return;
  for (const [file, lines] of missed) console.log(`  ${file}.js: ${lines}`);
}

/** A file of src/ as it was compiled, by its place below the folder of the build. */
const COMPILED = /\/build\/src\/((\w+)\/[\w/-]+)\.js$/;

/** Reads what the processes have left in a folder (NODE_V8_COVERAGE). */
function readCoverage(place: string): FolderCoverage[] {
  const files = readCounted(place);
  return FOLDERS.map((folder) => {
    const missed = new Map<string, readonly number[]>();
    let branches = 0;
    let taken = 0;
    for (const [file, counted] of files) {
      if (!file.startsWith(`${folder}/`)) continue;
      const all = mergeBranches(counted);
      const left = all.filter(({ isTaken }) => !isTaken);
      branches += all.length;
      taken += all.length - left.length;
      if (left.length > 0) missed.set(file, linesOf(file, left));
    }
    return { folder, branches, taken, missed };
  });
}

function linesOf(file: string, branches: readonly Branch[]): number[] {
  const text = readFileSync(path.join(PROJECT, 'build/src', `${file}.js`), 'utf8');
  return branches.map(({ start }) => text.slice(0, start).split('\n').length).sort((a, b) => a - b);
}

/** What one process has counted, by file; nothing if the process was killed while it wrote the report. */
function readReport(file: string): Report['result'] {
  const text = readFileSync(file, 'utf8');
  try {
    return (JSON.parse(text) as Report).result;
  } catch {
    return [];
  }
}

function readCounted(place: string): Map<string, Counted[]> {
  const files = new Map<string, Counted[]>();
  for (const name of readdirSync(place)) {
    for (const { url, functions } of readReport(path.join(place, name))) {
      const [, file, folder] = COMPILED.exec(url) ?? [];
      if (file === undefined || !FOLDERS.includes(folder)) continue;
      const ranges = functions.flatMap((each) => each.ranges);
      files.set(file, [...(files.get(file) ?? []), ranges]);
    }
  }
  return files;
}

/** V8 tells of a block only where its count differs from the one around it. */
function mergeBranches(counted: readonly Counted[]): Branch[] {
  const branches = new Map<string, Branch>();
  for (const { startOffset: start, endOffset: end } of counted.flat()) {
    branches.set(`${start} ${end}`, { start, end, isTaken: false });
  }
  for (const ranges of counted) {
    for (const branch of branches.values()) {
      if (!branch.isTaken) branch.isTaken = countOf(branch, ranges) > 0;
    }
  }
  return [...branches.values()];
}

/** The count of the smallest range around a branch. */
function countOf({ start, end }: Branch, ranges: Counted): number {
  let count = 0;
  let length = Number.POSITIVE_INFINITY;
  for (const { startOffset, endOffset, count: counted } of ranges) {
    if (startOffset > start || endOffset < end || endOffset - startOffset > length) continue;
    length = endOffset - startOffset;
    count = counted;
  }
  return count;
}
