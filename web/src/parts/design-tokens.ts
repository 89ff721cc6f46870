/**
 * Reads the design tokens of styles/tokens.css for charts and the tab icon, which no style sheet
 * draws.
 */

export function readToken(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
