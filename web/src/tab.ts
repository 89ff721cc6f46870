/** The page's tab: whose account, its value and risk, and alarms, readable in a row of tabs. */

import { pickDex, totalsOf } from './figures/all-dexes.ts';
import type { Verdict } from './figures/risk.ts';
import type { Level } from './figures/risk-levels.ts';
import { groupRounded } from './figures/text.ts';
import { nameOf, usersOnBoard } from './view/address-book.ts';
import { isCurrent, type View } from './view/view.ts';

/** In front of the value. */
const MARKS: Readonly<Record<Level, string>> = { safe: '', watch: '! ', danger: '‼ ' };

const COLOURS: Readonly<Record<Level | 'unknown', string>> = {
  safe: '#0f766e',
  watch: '#b45309',
  danger: '#b91c1c',
  unknown: '#6b7280',
};

/** Accounts beyond their limits, in a corner of the icon. */
const BADGE = "%3Ccircle cx='12.5' cy='3.5' r='3.5' fill='%23f59e0b'/%3E";
const END = '%3C/svg%3E';

export function drawTab(view: View, verdict: Verdict): void {
  const alarms = view.alarms.size;
  document.title = `${alarms === 0 ? '' : `⚑ ${alarms} `}${formatTitle(view, verdict)}`;
  drawIcon(levelOf(view, verdict), alarms > 0);
}

function levelOf(view: View, { level }: Verdict): Level | 'unknown' {
  if (view.isBoard) return view.link.state === 'live' ? 'safe' : 'unknown';
  return isCurrent(view, view.account) ? level : 'unknown';
}

function formatTitle(view: View, { level }: Verdict): string {
  if (view.isBoard) return `Board of ${usersOnBoard(view.book).length} · perpinfo`;
  const states = pickDex(view.account.answer?.value ?? [], view.dex);
  if (states.length === 0) return 'perpinfo';
  const value = groupRounded(totalsOf(states).accountValue, 2);
  const mark = isCurrent(view, view.account) ? MARKS[level] : '(old) ';
  return `${mark}${nameOf(view.book, view.user)} ${value} · perpinfo`;
}

/** The icon of index.html, in the colour of the risk. */
function drawIcon(level: Level | 'unknown', hasAlarms: boolean): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const state = `${level}${hasAlarms ? ' alarm' : ''}`;
  if (icon === null || icon.dataset['level'] === state) return;
  icon.dataset['level'] = state;
  icon.href = icon.href
    .replace(/fill='%23[0-9a-f]{6}'/, `fill='%23${COLOURS[level].slice(1)}'`)
    .replace(BADGE, '')
    .replace(END, `${hasAlarms ? BADGE : ''}${END}`);
}
