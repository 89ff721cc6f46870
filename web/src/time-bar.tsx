/** Controls that show the page as it was at any height in the archive. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ArchivedSpan } from './figures/answers.ts';
import { formatLocalTime, readLocalTime } from './figures/local-time.ts';
import { formatCount, formatTime } from './figures/text.ts';
import { CopyButton } from './parts/copy-button.tsx';
import { pastTime } from './view/selectors.ts';
import type { View } from './view/store.ts';
import { formatUrlState } from './view/url-state.ts';

export interface TimeActions {
  /** Shows the page as it was at a height; undefined shows the present. */
  showAt(at: number | undefined): void;
  /** Shows the page as it was at the last block that is not later than a time, in milliseconds. */
  showAtTime(timeMs: number): void;
}

interface PastLineProps {
  readonly view: View;
  readonly at: number;
  showAt(at: number | undefined): void;
}

/**
 * The part of the header that replaces the freshness of the figures while the page shows the past.
 */
export function PastLine({ view, at, showAt }: PastLineProps) {
  const time = pastTime(view);
  return (
    <div class="freshness past-line">
      <span role="status" data-field="moment" data-at={at} data-time={time}>
        <span aria-hidden="true">◄ </span>
        {time === undefined ? 'The past, ' : `As it was at ${formatTime(time)}, `}
        height {formatCount(at)}
      </span>
      <button type="button" onClick={() => showAt(undefined)}>
        Back to live
      </button>
    </div>
  );
}

interface TimeBarProps {
  readonly view: View;
  readonly actions: TimeActions;
}

/** Renders nothing if there is no archive. */
export function TimeBar({ view, actions }: TimeBarProps) {
  const archive = view.freshness?.archive;
  if (archive === undefined) return null;
  const { at } = view;
  const timeMs = at === undefined ? archive.lastTime : pastTime(view);
  return (
    <section class={at === undefined ? 'time-bar' : 'time-bar is-past'} aria-label="Moment">
      <HeightSlider {...{ archive, at }} showAt={actions.showAt} />
      <TimeForm {...{ archive, timeMs }} isPast={at !== undefined} go={actions.showAtTime} />
      {at !== undefined && (
        <CopyButton
          text={location.origin + location.pathname + formatUrlState(view)}
          label="Copy link to this moment"
        />
      )}
    </section>
  );
}

/** While a person moves the slider, the page waits until the slider has rested for this time. */
const REST_MS = 200;

interface HeightSliderProps {
  readonly archive: ArchivedSpan;
  readonly at: number | undefined;
  showAt(at: number): void;
}

function HeightSlider({ archive, at, showAt }: HeightSliderProps) {
  const { first, last } = archive;
  const [draft, setDraft] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // This must be a layout effect, so that the next move is not lost, and an old move cannot undo
  // "Back to live".
  useLayoutEffect(() => {
    setDraft(undefined);
    return () => clearTimeout(timer.current);
  }, [at]);
  const height = draft ?? at ?? last;
  const isLive = at === undefined && draft === undefined;
  const move = (to: number) => {
    const next = Math.max(first, Math.min(to, last));
    setDraft(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => showAt(next), REST_MS);
  };
  return (
    <div class="time-slider">
      <button type="button" disabled={height <= first} onClick={() => move(height - 1)}>
        <span aria-hidden="true">‹</span>
        <span class="hidden">One block earlier</span>
      </button>
      <input
        type="range"
        min={first}
        max={Math.max(last, height)}
        step={1}
        value={height}
        aria-label="Height that is shown"
        aria-valuetext={isLive ? 'live' : formatCount(height)}
        onInput={({ currentTarget }) => move(Number(currentTarget.value))}
      />
      <button
        type="button"
        disabled={at === undefined || height >= last}
        onClick={() => move(height + 1)}
      >
        <span aria-hidden="true">›</span>
        <span class="hidden">One block later</span>
      </button>
      <output class="figure small">
        {isLive ? '' : 'height '}
        <span data-field="chosenHeight">{isLive ? 'live' : formatCount(height)}</span>
      </output>
    </div>
  );
}

const HOUR_MS = 3_600_000;

interface TimeFormProps {
  readonly archive: ArchivedSpan;
  /** The time of the figures that are shown; undefined before the time is known. */
  readonly timeMs: number | undefined;
  readonly isPast: boolean;
  go(timeMs: number): void;
}

/** A form with a field for a date and time, and buttons for steps of an hour. */
function TimeForm({ archive, timeMs, isPast, go }: TimeFormProps) {
  const { firstTime, lastTime } = archive;
  const [draft, setDraft] = useState<string>();
  useEffect(() => setDraft(undefined), [isPast, isPast ? timeMs : undefined]);
  const goWithin = (to: number) => go(Math.max(firstTime, Math.min(to, lastTime)));
  const shown = timeMs === undefined ? '' : formatLocalTime(timeMs);
  const submit = (event: Event) => {
    event.preventDefault();
    const chosen = readLocalTime(draft ?? shown);
    if (chosen !== undefined) goWithin(chosen);
  };
  return (
    <form class="time-form" onSubmit={submit}>
      <button
        type="button"
        disabled={timeMs === undefined || timeMs <= firstTime}
        onClick={() => goWithin((timeMs ?? lastTime) - HOUR_MS)}
      >
        − 1 h<span class="hidden"> earlier</span>
      </button>
      <button
        type="button"
        disabled={!isPast || timeMs === undefined || timeMs >= lastTime}
        onClick={() => goWithin((timeMs ?? lastTime) + HOUR_MS)}
      >
        + 1 h<span class="hidden"> later</span>
      </button>
      <label>
        <span class="hidden">Date and time</span>
        <input
          type="datetime-local"
          step={1}
          min={formatLocalTime(firstTime)}
          max={formatLocalTime(lastTime)}
          value={draft ?? shown}
          // The present time changes, but the field must not change while a person edits it.
          onFocus={() => setDraft(draft ?? shown)}
          onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        />
      </label>
      <button type="submit">
        Show<span class="hidden"> this time</span>
      </button>
    </form>
  );
}
