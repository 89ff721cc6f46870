/** Reads the design tokens of styles/tokens.css, for what no style sheet draws: charts and the tab icon. */

export function readToken(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
