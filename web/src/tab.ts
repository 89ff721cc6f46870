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

/**
 * How often a title is shown in which only the value is new: for each title the browser draws its row of
 * tabs again, which takes a sixth of what all figures of the page take.
 */
const VALUE_MS = 5_000;

/** What the title that was last shown is about, and when it was shown. */
let shownAbout = '';
let shownMs = Number.NEGATIVE_INFINITY;

export function drawTab(view: View, verdict: Verdict): void {
  const alarms = view.alarms.size;
  const flag = alarms === 0 ? '' : `⚑ ${alarms} `;
  const [words, value] = formatTitle(view, verdict);
  const title = words === '' ? 'perpinfo' : `${words} ${value}· perpinfo`;
  drawTitle(flag + title, `${flag}${words} ${view.user} ${view.dex} ${view.at}`);
  drawIcon(levelOf(view, verdict), alarms > 0);
}

/** `about`: all that it depends on but the value. */
function drawTitle(title: string, about: string): void {
  const nowMs = performance.now();
  if (about === shownAbout && nowMs - shownMs < VALUE_MS) return;
  shownAbout = about;
  shownMs = nowMs;
  document.title = title;
}

function levelOf(view: View, { level }: Verdict): Level | 'unknown' {
  if (view.isBoard) return view.link.state === 'live' ? 'safe' : 'unknown';
  if (view.at !== undefined) return 'unknown';
  return isCurrent(view, view.account) ? level : 'unknown';
}

function formatTitle(view: View, { level }: Verdict): readonly [words: string, value: string] {
  if (view.isBoard) return [`Board of ${usersOnBoard(view.book).length}`, ''];
  const states = pickDex(view.account.answer?.value ?? [], view.dex);
  if (states.length === 0) return ['', ''];
  const mark = markOf(view, level);
  const value = groupRounded(totalsOf(states).accountValue, 2);
  return [`${mark}${nameOf(view.book, view.user)}`, `${value} `];
}

function markOf(view: View, level: Level): string {
  if (view.at !== undefined) return '(past) ';
  return isCurrent(view, view.account) ? MARKS[level] : '(old) ';
}

let shownIcon = '';

/** The icon of index.html, in the colour of the risk. */
function drawIcon(level: Level | 'unknown', hasAlarms: boolean): void {
  const state = `${level}${hasAlarms ? ' alarm' : ''}`;
  if (state === shownIcon) return;
  shownIcon = state;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon === null) return;
  icon.dataset['level'] = state;
  icon.href = icon.href
    .replace(/fill='%23[0-9a-f]{6}'/, `fill='%23${COLOURS[level].slice(1)}'`)
    .replace(BADGE, '')
    .replace(END, `${hasAlarms ? BADGE : ''}${END}`);
}
