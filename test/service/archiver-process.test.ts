/** The process that writes the archive, where it ends each time for the same reason. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { runArchiverProcess } from '../../src/service/archiver-process.ts';
import { FOLDER_ONLY } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';

const place = createPlaces();
const SETTINGS = {
  ...FOLDER_ONLY,
  data: 'nowhere',
  archiveDays: undefined,
} as const;
/** Says what is free, which is less each time. */
const FULL_DISK = `
  process.stderr.write('perpinfo: no space left: ' + (10 ** 15 - Date.now()) + ' bytes are free\\n');
  process.exitCode = 1;
`;

test('an archiver that always ends for the same reason is started again, and logged once', async (t) => {
  const program = place('full-disk.mjs');
  writeFileSync(program, FULL_DISK);
  const [, own] = process.argv;
  process.argv[1] = program;
  t.after(() => {
    process.argv[1] = own;
  });
  const logged: string[] = [];
  const write = (_: object, message: string) => void logged.push(message);
  const pids: number[] = [];
  const stop = new AbortController();
  const running = runArchiverProcess({
    settings: SETTINGS,
    // Only these are called, in this form.
    log: { info: write, error: write } as never,
    signal: stop.signal,
    started: (pid) => void pids.push(pid),
  });
  await until('a third start', () => pids.length === 3);
  stop.abort();
  await running;
  assert.deepEqual(
    logged.map((line) => line.replace(/\d+/, 'N')),
    ['no space left: N bytes are free', 'the archiver has ended: it is started again'],
  );
});
