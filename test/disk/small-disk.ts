/**
 * Disks that are full or cannot be written to: a small tmpfs for each test. The suite runs in a mount
 * namespace of its own (test/run.ts), so that nothing stays mounted whatever happens to it.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Cleanup } from '../service/running.ts';

const PAGE_BYTES = 4096;

function runCommand(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`);
}

export class SmallDisk {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Leaves no room but for so many bytes, rounded down to whole pages. */
  fill({ leave = 0 } = {}): void {
    const file = openSync(path.join(this.folder, 'filler'), 'a');
    const page = Buffer.alloc(PAGE_BYTES);
    try {
      for (;;) writeSync(file, page);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    } finally {
      closeSync(file);
    }
    const filler = path.join(this.folder, 'filler');
    const { size } = statSync(filler);
    const pages = Math.floor((size - leave) / PAGE_BYTES);
    assert.ok(pages >= 0, `there are not ${leave} bytes to leave`);
    runCommand('truncate', '--size', `${pages * PAGE_BYTES}`, filler);
  }

  makeRoom(): void {
    rmSync(path.join(this.folder, 'filler'), { force: true });
  }

  setReadOnly(isReadOnly: boolean): void {
    runCommand('mount', '-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.folder);
  }

  /** The names below a folder of it, without the filler. */
  names(folder = '.'): string[] {
    const names = readdirSync(path.join(this.folder, folder));
    return names.filter((name) => name !== 'filler').sort();
  }
}

/** Mounts a disk of so many KiB at a folder, which is made where it is not there. */
export function mountDisk(context: Cleanup, folder: string, kibibytes: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  runCommand('mount', '-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'perpinfo-test', folder);
  // Lazily: whatever still has it open must not keep the test from ending.
  context.after(() => runCommand('umount', '--lazy', folder));
  return new SmallDisk(folder);
}

/** A disk in a folder of its own. */
export function makeDisk(context: Cleanup, kibibytes: number): SmallDisk {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-disk-'));
  const disk = mountDisk(context, folder, kibibytes);
  // After it was unmounted: hooks run in order.
  context.after(() => rmSync(folder, { recursive: true }));
  return disk;
}

/** Every line is the program's own sentence: no stack, no driver's shout. */
export function assertSentences(stderr: string): void {
  for (const line of stderr.split('\n').slice(0, -1)) {
    assert.match(line, /^perpinfo: (warning: )?\S.*$/, stderr);
  }
  assert.doesNotMatch(stderr, /^\s+at /m);
}

/** From now on the process may have so many files open; what it has open stays so. */
export function limitFiles(pid: number | undefined, count: number): void {
  runCommand('prlimit', `--pid=${pid}`, `--nofile=${count}:`);
}
