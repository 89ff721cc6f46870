/**
 * Draws the title and the icon of the page's tab, with the account or the board, its value, its
 * risk and its alarms.
 */

import { pickDex, totalsOf } from './figures/all-dexes.ts';
import type { LevelOrUnknown } from './figures/risk-levels.ts';
import { groupRounded } from './figures/text.ts';
import { readToken } from './parts/design-tokens.ts';
import { nameOf, usersOnBoard } from './view/address-book.ts';
import { isCurrent } from './view/selectors.ts';
import { EMPTY_PANEL, type View } from './view/store.ts';

/** The sign in front of the account or the board in the title. */
const MARKS: Readonly<Record<LevelOrUnknown, string>> = {
  safe: '',
  watch: '! ',
  danger: '‼ ',
  unknown: '',
};

/** Returns a design token, encoded for a data URL. */
function readIconColour(name: LevelOrUnknown | 'alarm'): string {
  return encodeURIComponent(readToken(`icon-${name}`));
}

/** A dot in a corner of the icon, which means that accounts are beyond their limits. */
const DOT_BEGIN = "%3Ccircle cx='12.5' cy='3.5' r='3.5' fill='";
const DOT = /%3Ccircle[^/]*\/%3E/;
const BACKGROUND = /(rx='3' fill=')[^']*/;
const END = '%3C/svg%3E';

/**
 * The minimum interval between two titles that differ only in the value. For each title the browser
 * draws its row of tabs again, which takes a sixth of the time that all figures of the page take.
 */
const VALUE_MS = 5_000;

/** The subject of the last title, and the time at which the title was shown. */
let shownAbout = '';
let shownMs = Number.NEGATIVE_INFINITY;

/** `level` is the level of the account or the board that is shown. */
export function drawTab(view: View, level: LevelOrUnknown): void {
  const alarms = view.alarms.size;
  const flag = alarms === 0 ? '' : `⚑ ${alarms} `;
  const [words, value] = formatTitle(view, level);
  const title = words === '' ? 'perpinfo' : `${words} ${value}· perpinfo`;
  drawTitle(flag + title, `${flag}${words} ${view.user} ${view.dex} ${view.at}`);
  drawIcon(isShownCurrent(view) ? level : 'unknown', alarms > 0);
}

/** `about` identifies everything that the title depends on, except the value. */
function drawTitle(title: string, about: string): void {
  const nowMs = performance.now();
  if (about === shownAbout && nowMs - shownMs < VALUE_MS) return;
  shownAbout = about;
  shownMs = nowMs;
  document.title = title;
}

/**
 * Returns true if the figures are current. Figures of the past are not, because past risk is not
 * current risk.
 */
function isShownCurrent(view: View): boolean {
  if (view.isBoard) return isCurrent(view, EMPTY_PANEL);
  return view.at === undefined && isCurrent(view, view.account);
}

function formatTitle(view: View, level: LevelOrUnknown): readonly [words: string, value: string] {
  const mark = markOf(view, level);
  if (view.isBoard) return [`${mark}Board of ${usersOnBoard(view.book).length}`, ''];
  const states = pickDex(view.account.answer?.value ?? [], view.dex);
  if (states.length === 0) return ['', ''];
  const value = groupRounded(totalsOf(states).accountValue, 2);
  return [`${mark}${nameOf(view.book, view.user)}`, `${value} `];
}

function markOf(view: View, level: LevelOrUnknown): string {
  if (view.at !== undefined) return '(past) ';
  if (isShownCurrent(view)) return MARKS[level];
  return view.link.state === 'connecting' && level === 'unknown' ? '' : '(old) ';
}

let shownIcon = '';

/** Draws the icon of index.html in the colour of the risk. */
function drawIcon(level: LevelOrUnknown, hasAlarms: boolean): void {
  const state = `${level}${hasAlarms ? ' alarm' : ''}`;
  if (state === shownIcon) return;
  shownIcon = state;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon === null) return;
  icon.dataset['level'] = state;
  const dot = hasAlarms ? `${DOT_BEGIN}${readIconColour('alarm')}'/%3E` : '';
  icon.href = icon.href
    .replace(BACKGROUND, `$1${readIconColour(level)}`)
    .replace(DOT, '')
    .replace(END, `${dot}${END}`);
}
