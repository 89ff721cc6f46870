/**
 * Writes the results of all cases into their files. A block that does not apply ends the command, before any
 * file is written.
 *
 *   npm run cases:rewrite
 */

import { writeFileSync } from 'node:fs';
import { CaseFile, listCaseFiles, pathOf } from './case-file.ts';
import { foldLedger, runItem } from './run-item.ts';

const written = listCaseFiles().map((name) => {
  const file = new CaseFile(name);
  const text = file.format((item, { ledger }) => {
    const lines = runItem(file, foldLedger(file, ledger), ledger, item);
    if (item.name !== undefined) file.nameAnswer(item, lines);
    return lines;
  });
  return [pathOf(name), text] as const;
});
for (const [file, text] of written) writeFileSync(file, text);
