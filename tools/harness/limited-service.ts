/**
 * `perpinfo serve` with limits of HTTP that a test chooses: the limits as JSON, then the flags of `serve`.
 * Ends on SIGTERM.
 */

import { serve } from '../../src/cli/commands/serve.ts';
import { readCommandSettings, splitArguments } from '../../src/config/read-settings.ts';
import { createLog } from '../../src/service/logging/log.ts';
import { runService } from '../../src/service/run-service.ts';

const [limits, ...argv] = process.argv.slice(2);
const settings = readCommandSettings(serve.settings, splitArguments(argv, serve.settings));
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort(new Error('got SIGTERM')));
const { signal } = stop;
await runService({ settings, limits: JSON.parse(limits), log: createLog(settings), signal });
process.exit();
