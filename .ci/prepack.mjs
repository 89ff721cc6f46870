/** Builds what `npm pack` ships, from nothing: in a clone that was never installed or built as well. */

import { execSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

// npm hands its own standard output to whoever reads the package's name from it.
const options = { stdio: ['ignore', process.stderr, process.stderr] };
if (!existsSync('node_modules/typescript')) {
  execSync('npm ci --ignore-scripts --no-audit --no-fund', options);
}
rmSync('dist', { recursive: true, force: true });
execSync('npm run --silent build', options);
writeFileSync('sbom.cdx.json', execSync('node .ci/sbom.mjs'));
