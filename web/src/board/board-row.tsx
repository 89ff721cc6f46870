/**
 * A row of the board. There may be hundreds of rows, so cells are plain elements from functions,
 * not components. A row is drawn only when the schedule says so.
 */

import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Alarm } from '../figures/alarms.ts';
import type { AmountChange, BoardFigures } from '../figures/board-figures.ts';
import { LEVEL_TONES } from '../figures/risk-levels.ts';
import {
  formatAge,
  formatDuration,
  formatTick,
  formatTime,
  groupRounded,
  shortenAddress,
  withSign,
} from '../figures/text.ts';
import { type DayStart, isMidnight } from '../history/day-start.ts';
import { toneOf } from '../parts/figure.tsx';
import { CELL, ROW, ROW_HEADING } from '../parts/roles.ts';
import type { RowSchedule } from './row-schedule.ts';
import { isRowOld, type ShownRow } from './shown-rows.ts';

interface BoardRowProps {
  readonly user: string;
  readonly label: string;
  /** False while the key is refused. The page reports the refusal once, not in each row. */
  readonly isAsked: boolean;
  readonly alarms: readonly Alarm[] | undefined;
  readonly schedule: RowSchedule;
  /** Returns the row with its newest figures, to be drawn now. */
  take(user: string): ShownRow | undefined;
  /** Returns the row as it was last drawn or measured. */
  last(user: string): ShownRow | undefined;
  open(user: string): void;
  edit(user: string): void;
}

export function BoardRow(props: BoardRowProps) {
  const { user, label, isAsked, alarms, schedule, take, last, open, edit } = props;
  // A row that has moved to another group shows at once what it showed in the earlier group.
  const [shown, setShown] = useState(() => last(user));
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    const element = row.current;
    if (element === null) return undefined;
    const [draw, measure] = [() => setShown(take(user)), () => void take(user)];
    return schedule.add({ user, element, draw, measure });
  }, [user]);
  return useMemo(
    () => drawRow({ user, row, label, isAsked, alarms, shown, open, edit }),
    [label, isAsked, alarms, shown, open, edit],
  );
}

interface Drawn
  extends Pick<BoardRowProps, 'user' | 'label' | 'isAsked' | 'alarms' | 'open' | 'edit'> {
  readonly row: RefObject<HTMLTableRowElement | null>;
  readonly shown: ShownRow | undefined;
}

/** The text for a figure that is unknown or does not apply. */
const NOTHING = '–';
const MINUTE_MS = 60_000;

function drawRow({ user, row, label, isAsked, alarms = [], shown, open, edit }: Drawn) {
  const { figures, state } = shown ?? {};
  const isOld = shown !== undefined && isRowOld(shown);
  const marks = `${isOld ? 'is-old' : ''} ${alarms.length > 0 ? 'is-beyond' : ''}`;
  return (
    <tr
      {...ROW}
      ref={row}
      class={marks}
      data-user={user}
      data-height={state?.account?.height}
      data-account-time={state?.account?.accountTime}
      onClick={(event) => {
        const isControl = (event.target as Element).closest('a, button') !== null;
        if (isControl || getSelection()?.isCollapsed === false) return;
        // In other tables, a click on a figure copies the figure.
        event.stopPropagation();
        open(user);
      }}
    >
      <th {...ROW_HEADING} class="cell-account">
        <a href={`#user=${user}`} title={user}>
          {label || shortenAddress(user)}
        </a>
        <span class="under muted">{label === '' ? '' : shortenAddress(user)}</span>
        {drawNote(shown, isAsked)}
      </th>
      {drawUsd('Value', 'value', figures?.value)}
      {drawChange(shown?.change, state?.dayStart)}
      {drawRisk(figures)}
      {drawNearest(figures)}
      {drawUsd('Long', 'long', figures?.long)}
      {drawUsd('Short', 'short', figures?.short)}
      {drawUsd('Net', 'net', figures?.net)}
      {drawProfit(figures?.unrealizedPnl)}
      {drawUnlock(shown)}
      <td {...CELL} class="cell-edit">
        <button type="button" class="quiet" onClick={() => edit(user)}>
          Edit<span class="hidden"> {label || user}</span>
        </button>
      </td>
      {alarms.length > 0 && (
        <td {...CELL} class="cell-alarms">
          {alarms.map(({ name, mark }) => (
            <span key={name} class="alarm-words" data-alarm={name}>
              ⚑ {mark}
            </span>
          ))}
        </td>
      )}
    </tr>
  );
}

/** Draws a note that says why the figures are missing or not current. */
function drawNote(shown: ShownRow | undefined, isAsked: boolean) {
  const text = describeState(shown, isAsked);
  return (
    text !== '' && (
      <span class="under muted" data-field="note" title={shown?.state.problem}>
        {text}
      </span>
    )
  );
}

function describeState(shown: ShownRow | undefined, isAsked: boolean): string {
  const problem = isAsked ? shown?.state.problem : '';
  const reason = problem ? `: ${problem}` : '';
  if (shown?.figures === undefined) {
    if (reason !== '') return `no answer${reason}`;
    return isAsked ? 'asking…' : '';
  }
  const { state, ageMs } = shown;
  if (isRowOld(shown)) return `${formatAge(ageMs)} old${reason}`;
  return state.account?.height === undefined ? 'the exchange’s own answer' : '';
}

function drawUsd(label: string, field: string, text: string | undefined) {
  return (
    <td {...CELL} class="number" data-label={label}>
      <span title={text} data-field={field}>
        {text === undefined ? NOTHING : groupRounded(text, 2)}
      </span>
    </td>
  );
}

function drawProfit(text: string | undefined) {
  return (
    <td {...CELL} class="number" data-label="Profit">
      <span class={toneOf(text ?? '')} title={text} data-field="unrealizedPnl">
        {text === undefined ? NOTHING : withSign(text, groupRounded(text, 2))}
      </span>
    </td>
  );
}

function drawChange(change: AmountChange | undefined, start: DayStart | undefined) {
  if (change === undefined || start === undefined) {
    return (
      <td {...CELL} class="number" data-label="Today">
        <span data-field="change">{NOTHING}</span>
      </td>
    );
  }
  const { amount, percent } = change;
  const since = isMidnight(start) ? 'midnight' : formatTick(start.sinceMs, MINUTE_MS);
  return (
    <td {...CELL} class="number" data-label="Today">
      <span class={toneOf(amount)} title={amount} data-field="change" data-start={start.value}>
        {withSign(amount, groupRounded(amount, 2))}
      </span>
      <span class="under muted" title={`${formatTime(start.sinceMs)}: ${start.value}`}>
        {percent !== undefined && `${withSign(percent, groupRounded(percent, 2))}\u00A0% `}
        <span data-field="since">{`since ${since}`.replace(/\s/g, '\u00A0')}</span>
      </span>
    </td>
  );
}

function drawRisk(figures: BoardFigures | undefined) {
  if (figures === undefined) {
    return (
      <td {...CELL} data-label="Risk">
        <span data-field="risk">{NOTHING}</span>
      </td>
    );
  }
  const { word, cause, level } = figures.verdict;
  return (
    <td {...CELL} class="cell-risk" data-label="Risk">
      <strong class={cause === '' ? 'muted' : LEVEL_TONES[level]} data-field="risk">
        {word}
      </strong>
      <span class="under muted" data-field="cause" title={cause}>
        {cause}
      </span>
    </td>
  );
}

function drawNearest(figures: BoardFigures | undefined) {
  const { nearest } = figures ?? {};
  if (nearest === undefined) {
    return (
      <td {...CELL} class="number" data-label="Nearest liquidation">
        <span data-field="nearest">{figures === undefined ? NOTHING : 'none'}</span>
      </td>
    );
  }
  const { coin, distance, loss, liquidationPx } = nearest;
  return (
    <td {...CELL} class="number may-wrap" data-label="Nearest liquidation">
      <span data-field="nearest" title={`liquidation at ${liquidationPx}`}>
        {coin} {distance}
      </span>
      <span class="under muted" title="what the position loses until then">
        <span data-field="loss" title={loss}>
          {groupRounded(loss, 2)}
        </span>
      </span>
    </td>
  );
}

function drawUnlock(shown: ShownRow | undefined) {
  const answer = shown?.state.stakes;
  const stakes = answer?.value;
  const time = shown?.unlockTime;
  const text =
    stakes === undefined || stakes.length === 0
      ? NOTHING
      : time === undefined
        ? 'unlocked'
        : `in ${formatDuration(time - (shown?.nowMs ?? 0))}`;
  return (
    <td {...CELL} class="number may-wrap" data-label="Next unlock">
      <span
        data-field="unlock"
        data-time={time}
        data-height={answer?.height}
        data-account-time={answer?.accountTime}
        title={time === undefined ? undefined : formatTime(time)}
      >
        {text}
      </span>
    </td>
  );
}
