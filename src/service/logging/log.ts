/** The log: JSON lines, or readable lines if the output is a terminal. */

import { isatty } from 'node:tty';
import { type Logger, pino } from 'pino';
import type { LogSettings } from '../settings.ts';
import { openDestination } from './log-destination.ts';

export const STANDARD_OUTPUT = 1;
export const STANDARD_ERROR = 2;

export function createLog({ logLevel, logFormat }: LogSettings, fd = STANDARD_OUTPUT): Logger {
  const isText = logFormat === 'auto' ? isatty(fd) : logFormat === 'text';
  if (!isText) return pino({ level: logLevel }, openDestination(fd));
  const stream = fd === STANDARD_OUTPUT ? process.stdout : process.stderr;
  return pino({ level: logLevel }, { write: (line) => void stream.write(formatEntry(line)) });
}

/** An error in the form in which pino serializes it. */
interface LoggedError {
  readonly message: string;
}

/**
 * Formats pino's line of JSON as text, for example "12:00:01 info  listening
 * address=http://127.0.0.1:8080 port=8080".
 *
 * @internal Exported for its test.
 */
export function formatEntry(line: string): string {
  const { level, time, pid, hostname, msg, err, ...fields } = JSON.parse(line);
  const clock = new Date(time).toTimeString().slice(0, 8);
  const reason = err === undefined ? '' : `: ${(err as LoggedError).message}`;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${formatValue(value)}`);
  const text = `${clock} ${pino.levels.labels[level].padEnd(5)} ${msg}${reason}${pairs.join('')}`;
  return `${text.replaceAll(/\p{Cc}/gu, ' ')}\n`;
}

/** Quotes the value as JSON, unless the value is a single word. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
