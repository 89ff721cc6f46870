/**
 * Suppresses the output of LMDB's driver. When a commit fails, the driver prints the error with its
 * stack, and then rejects the promise. perpinfo reports the rejection, so the user would see the
 * failure twice. The driver has no option for this, so console.error is replaced
 * (docs/internals/private-hooks.md). All other output is still printed.
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

/** Errors of the driver have numeric codes; the codes of Node's errors are text. */
function isDriverError(value: unknown): boolean {
  return value instanceof Error && typeof (value as { code?: unknown }).code === 'number';
}
