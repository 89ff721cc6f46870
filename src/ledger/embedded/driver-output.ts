/**
 * Suppresses what LMDB's driver prints. It prints a failed commit, with its stack, and then rejects. We
 * report the rejection, so the user would read the failure twice. The driver has no option for this, so
 * console.error is replaced (docs/internals/private-hooks.md); all other output passes.
 */

let isMuted = false;

export function muteDriver(): void {
  if (isMuted) return;
  isMuted = true;
  // biome-ignore lint/suspicious/noConsole: intercepts the driver's output; this code prints nothing.
  const print = console.error;
  console.error = (...values: unknown[]) => {
    if (!isDriverError(values[0])) print(...values);
  };
}

/** Errors of the driver have numeric codes: those of Node are text. */
function isDriverError(value: unknown): boolean {
  return value instanceof Error && typeof (value as { code?: unknown }).code === 'number';
}
