/** Times that processes of one machine can compare: milliseconds of the system's steady clock. */

/** Read once: `performance.now()` counts from the start of its own process. */
const PROCESS_START_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export function steadyMs(): number {
  return PROCESS_START_MS + performance.now();
}
