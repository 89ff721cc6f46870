/** Recorded answers of a real exchange, served by the stub: followed, asked, equal. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../../src/events/event.ts';
import { isJsonObject } from '../../../src/events/fields.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState } from '../../../src/state/state.ts';
import { VECTORS } from '../../../tools/harness/paths.ts';
import { RunningFollower } from '../../../tools/harness/running-follower.ts';
import { RunningStub } from '../../../tools/harness/running-stub.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import type { Json, Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import { ALSO_FULL, scale } from '../../scale.ts';

interface Recording {
  readonly name: string;
  readonly block: { readonly time: number };
  readonly query: Question;
  readonly expected: Json;
}

/** A unified account and delegations; half of all in the long run, all in the full one. */
const SHORT = ['account-32'];

const RECORDINGS = readdirSync(VECTORS)
  .filter((file, index) =>
    scale(SHORT.includes(path.basename(file, '.json')), index % 12 === 0, true),
  )
  .map((file) => JSON.parse(readFileSync(path.join(VECTORS, file), 'utf8')) as Recording);

/** The figures of which the recorded text has the noise of a double. */
const RATIOS: readonly string[] = ['returnOnEquity', 'liquidationPx'];
const TOLERANCE = 1e-9;

/** The recorded figures, and ours for those that were not recorded. */
function complete(recorded: Json, ours: Json): Json {
  if (Array.isArray(recorded)) return recorded.map((item, index) => complete(item, ours[index]));
  if (!isJsonObject(recorded)) return recorded;
  const merged: Json = { ...ours };
  for (const [key, value] of Object.entries(recorded)) merged[key] = complete(value, ours[key]);
  if (merged.type === 'cross') merged.rawUsd = undefined;
  return merged;
}

function assertRecorded(where: string, recorded: Json, told: Json): void {
  if (isJsonObject(recorded) || Array.isArray(recorded)) {
    for (const [key, value] of Object.entries(recorded)) {
      assertRecorded(`${where}.${key}`, value, told?.[key]);
    }
    if (Array.isArray(recorded)) assert.equal(told.length, recorded.length, where);
    return;
  }
  const isRatio = RATIOS.some((name) => where.endsWith(name)) && recorded !== null;
  if (!isRatio) assert.equal(told, recorded, where);
  else {
    const difference = Math.abs(Number(recorded) - Number(told));
    assert.ok(
      difference <= TOLERANCE * Math.abs(Number(recorded)),
      `${where}: ${told}, ${recorded}`,
    );
  }
}

for (const { name, block, query, expected } of RECORDINGS) {
  test(`${name} is followed, asked and equal`, ALSO_FULL, async (context) => {
    const folder = await makeTemporaryFolder(context);
    const file = path.join(folder, 'truth.ndjson');
    const line = JSON.stringify(block);
    writeFileSync(file, `${line}\n`);
    const stub = await RunningStub.start(context, { file, isSimulated: false, intervalMs: 0 });
    if (query.type === 'clearinghouseState') {
      const state = createState();
      applyBlock(state, parseBlock(line));
      await stub.fix(query, complete(expected, JSON.parse(answerQuestion(state, query))));
    }
    const data = path.join(folder, 'data');
    const follower = await RunningFollower.start(context, { data, stub });
    const told = await follower.untilAnswered(query);
    assert.equal(told.headers['account-source'], undefined, told.body);
    assertRecorded(name, expected, JSON.parse(told.body));
  });
}
