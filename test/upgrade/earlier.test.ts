/** What an earlier version has written is read, and answered from, as it was by that version. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion } from '../../src/info/read-question.ts';
import {
  appendAll,
  restoreDirectory,
  verifyDirectory,
} from '../../tools/harness/data-directory.ts';
import { createPlaces, run } from '../../tools/harness/program.ts';
import { startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { restore } from '../backup/backups.ts';
import { readRecorded, unpackBackup, unpackData } from './kept-files.ts';

/** Versions of which files are kept. */
const VERSIONS = ['0.1.0'];
const place = createPlaces();

for (const version of VERSIONS) {
  const recorded = readRecorded(version);
  const { height, head, digest } = recorded.ledger;

  test(`a ledger and snapshots of ${version} are verified`, async () => {
    const data = unpackData(version, place());
    const { code, stdout, stderr } = await run(['verify', '--data', data]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout, `height ${height}\nhead   ${head}\ndigest ${digest}\n`);
  });

  test(`a snapshot of ${version} is taken, and gives the recorded answers`, async () => {
    const { replica, warnings, startHeight } = await restoreDirectory(unpackData(version, place()));
    assert.deepEqual([startHeight, warnings], [160, []]);
    assert.ok(recorded.answers.length >= 9);
    for (const { question, answer } of recorded.answers) {
      assert.equal(answerQuestion(replica.state, question), answer);
    }
  });

  test(`keys of ${version} open the service, which gives the recorded answers`, async (t) => {
    const data = unpackData(version, place());
    const service = await startService(t, { data, flags: ['--max-age', '0'] });
    await service.untilCaughtUp(height);
    const client = service.connect();
    assert.equal(recorded.secrets.length, 2);
    for (const secret of recorded.secrets) {
      const [{ question, answer }] = recorded.answers;
      const { status, body } = await client.ask(secret, question);
      assert.deepEqual([status, body], [200, answer]);
    }
    assert.equal((await client.ask('unknown', recorded.answers[0].question)).status, 401);
  });

  test(`a ledger of ${version} takes more blocks`, async () => {
    const data = unpackData(version, place());
    const next = simulateNext(height);
    await appendAll(data, next, { snapshotEvery: 10 });
    assert.equal((await verifyDirectory(data)).height, height + next.length);
  });

  test(`a backup of ${version} is restored, with its keys`, async () => {
    const [file, data] = [unpackBackup(version, place('backup')), place()];
    const restored = await restore(file, data);
    assert.deepEqual(await verifyDirectory(data), recorded.backup);
    assert.deepEqual([restored.addedBlocks, restored.addedKeys], [recorded.backup.height, 2]);
  });
}

/** Blocks without events, whose times continue those of any simulated ledger. */
function simulateNext(height: number): string[] {
  const { time } = JSON.parse(simulateLines(1)[0]) as { time: number };
  return Array.from({ length: 25 }, (_, index) =>
    JSON.stringify({ height: height + 1 + index, time: time + 86_400_000 + index, events: [] }),
  );
}
