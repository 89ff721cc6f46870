/** A clock that all processes of one machine share: milliseconds of the system's steady clock. */

/** The start of this process by the steady clock. `performance.now()` counts from this start. */
const PROCESS_START_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export function steadyMs(): number {
  return PROCESS_START_MS + performance.now();
}
