/**
 * Disks that are full or cannot be written to: a small tmpfs for each test. The suite runs in a mount
 * namespace of its own (test/suites.ts), so that nothing stays mounted.
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
import type { Cleanup } from '../../tools/harness/running.ts';

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

  /** Fills the disk up to this many free bytes, rounded down to whole pages. */
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

  /** Names in a folder of the disk, without the filler. */
  names(folder = '.'): string[] {
    const names = readdirSync(path.join(this.folder, folder));
    return names.filter((name) => name !== 'filler').sort();
  }
}

/** Mounts a disk of this size at a folder, which is created if missing. */
export function mountDisk(context: Cleanup, folder: string, kibibytes: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  runCommand('mount', '-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'perpinfo-test', folder);
  // Lazily, since a process may still have files open on it.
  context.after(() => runCommand('umount', '--lazy', folder));
  return new SmallDisk(folder);
}

/** A disk in a folder of its own. */
export function makeDisk(context: Cleanup, kibibytes: number): SmallDisk {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-disk-'));
  const disk = mountDisk(context, folder, kibibytes);
  // Hooks run in order, so this is after the unmount.
  context.after(() => rmSync(folder, { recursive: true }));
  return disk;
}

/** Every line is a message of the program: no stack trace, no output of a driver. */
export function assertSentences(stderr: string): void {
  for (const line of stderr.split('\n').slice(0, -1)) {
    assert.match(line, /^perpinfo: (warning: )?\S.*$/, stderr);
  }
  assert.doesNotMatch(stderr, /^\s+at /m);
}

/** Limits the open files of a running process; those that are open stay open. */
export function limitFiles(pid: number | undefined, count: number): void {
  runCommand('prlimit', `--pid=${pid}`, `--nofile=${count}:`);
}

/** From now on a write of a running process past this size of a file fails in the middle. */
export function limitFileSize(pid: number | undefined, bytes: number): void {
  runCommand('prlimit', `--pid=${pid}`, `--fsize=${bytes}:`);
}
