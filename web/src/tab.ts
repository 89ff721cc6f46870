/** The page's tab: account value and risk, readable in a row of tabs. */

import { pickDex, totalsOf } from './figures/all-dexes.ts';
import type { Verdict } from './figures/risk.ts';
import type { Level } from './figures/risk-levels.ts';
import { groupRounded } from './figures/text.ts';
import { isCurrent, type View } from './view/view.ts';

/** In front of the value. */
const MARKS: Readonly<Record<Level, string>> = { safe: '', watch: '! ', danger: '‼ ' };

const COLOURS: Readonly<Record<Level | 'unknown', string>> = {
  safe: '#0f766e',
  watch: '#b45309',
  danger: '#b91c1c',
  unknown: '#6b7280',
};

export function drawTab(view: View, verdict: Verdict): void {
  document.title = formatTitle(view, verdict);
  drawIcon(isCurrent(view, view.account) ? verdict.level : 'unknown');
}

function formatTitle(view: View, { level }: Verdict): string {
  const states = pickDex(view.account.answer?.value ?? [], view.dex);
  if (states.length === 0) return 'perpinfo';
  const value = groupRounded(totalsOf(states).accountValue, 2);
  return `${isCurrent(view, view.account) ? MARKS[level] : '(old) '}${value} · perpinfo`;
}

/** The icon of index.html, in the colour of the risk. */
function drawIcon(level: Level | 'unknown'): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon === null || icon.dataset['level'] === level) return;
  icon.dataset['level'] = level;
  icon.href = icon.href.replace(/fill='%23[0-9a-f]{6}'/, `fill='%23${COLOURS[level].slice(1)}'`);
}
