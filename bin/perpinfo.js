#!/usr/bin/env node
/** Starts the built program. Not compiled, so that it is there in a checkout that has no build yet. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const program = new URL('../dist/main.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  const folder = fileURLToPath(new URL('..', import.meta.url));
  process.stderr.write(`perpinfo: not built yet; run "npm ci && npm run build" in ${folder}\n`);
  process.exitCode = 1;
}
