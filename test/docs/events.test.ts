/** docs/reference/events.md has an example of every event, and its examples make a ledger. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_TYPES } from '../../src/events/event.ts';
import { run } from '../../tools/harness/program.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { fencedBlocks, readDocument, readSections } from './documents.ts';

const SECTIONS = readSections(readDocument('docs/reference/events.md'), 3);
const TIME_MS = 1_758_556_800_000;
/** Delegations are locked for a day; one is undelegated two examples later. */
const DAY_MS = 86_400_000;

/** The events of the examples, in the order of the page. */
function readExamples(): { type: string }[] {
  return [...SECTIONS.values()].flatMap((section) =>
    fencedBlocks(section, 'json').map((block) => JSON.parse(block)),
  );
}

test('the page has one example of each event, in the section of that name', () => {
  for (const type of EVENT_TYPES) {
    const examples = fencedBlocks(SECTIONS.get(type) ?? '', 'json');
    assert.deepEqual(
      examples.map((example) => JSON.parse(example).type),
      [type],
    );
  }
  assert.equal(readExamples().length, EVENT_TYPES.length);
});

test('the examples can be appended to a ledger in the order of the page', async (context) => {
  const folder = await makeTemporaryFolder(context);
  const blocks = readExamples().map((event, index) =>
    JSON.stringify({ height: index + 1, time: TIME_MS + index * DAY_MS, events: [event] }),
  );
  const { code, stdout, stderr } = await run(['append', '--data', folder], {
    input: blocks.join('\n'),
  });
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`^durable ${blocks.length}\\n$`, 'm'));
});

test('the page shows the refusal that a bad block gets', async (context) => {
  const folder = await makeTemporaryFolder(context);
  const [market, fill] = ['market', 'fill'].map((type) =>
    JSON.parse(fencedBlocks(SECTIONS.get(type) ?? '', 'json')[0]),
  );
  const lines = [
    { height: 1, time: TIME_MS, events: [market] },
    { height: 2, time: TIME_MS, events: [{ ...fill, sz: '0.0000001' }] },
  ].map((block) => JSON.stringify(block));
  const { code, stderr } = await run(['append', '--data', folder], { input: lines.join('\n') });
  const [shown] = fencedBlocks(readDocument('docs/reference/events.md'), 'text').filter((text) =>
    text.startsWith('perpinfo: '),
  );
  assert.equal(code, 1);
  assert.ok(stderr.endsWith(shown), stderr);
});
