/** Naive decimal arithmetic, to check the page's own against. */

/** The figure in units of ten to the minus 20. */
export function toUnits(text: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined) throw new Error(`not a decimal: ${text}`);
  return BigInt(`${sign}${whole}${fraction.padEnd(20, '0')}`);
}

export const sumUnits = (texts: readonly string[]): bigint =>
  texts.reduce((total, text) => total + toUnits(text), 0n);

/** Fixed decimals, rounded half away from zero, grouped by commas, with a typographic minus. */
export function writeRounded(units: bigint, decimals: number): string {
  const step = 10n ** BigInt(20 - decimals);
  const size = units < 0n ? -units : units;
  const steps = size / step + (2n * (size % step) >= step ? 1n : 0n);
  const digits = steps.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const grouped = Array.from(whole, (digit, index) => {
    const isBreak = index > 0 && (whole.length - index) % 3 === 0;
    return isBreak ? `,${digit}` : digit;
  }).join('');
  const fraction = decimals > 0 ? `.${digits.slice(-decimals)}` : '';
  return `${units < 0n && steps > 0n ? '−' : ''}${grouped}${fraction}`;
}

/** All decimals that the text has, grouped. */
export function writeWhole(text: string): string {
  return writeRounded(toUnits(text), text.split('.')[1]?.length ?? 0);
}

/** As the endpoint writes: trailing zeros trimmed, but always a point and a digit. */
export function writeDecimal(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(21, '0');
  const text = `${digits.slice(0, -20)}.${digits.slice(-20)}`.replace(/(\.\d+?)0+$/, '$1');
  return `${units < 0n ? '-' : ''}${text}`;
}
