/**
 * The controls of "What if", and a banner that says that the moves of the marks are hypothetical.
 */

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { group, withSign } from '../figures/text.ts';
import {
  type Hypothetical,
  isMoved,
  type Move,
  NO_MOVE,
  PERCENT_DECIMALS_MAX,
  PERCENT_MAX,
  PERCENT_MIN,
  readPercent,
} from '../figures/what-if.ts';
import { Figure, SignedFigure } from '../parts/figure.tsx';
import { Stat } from '../parts/stat.tsx';
import type { Refusal } from '../service/service.ts';

const PRESETS = ['-50', '-20', '-10', '-5', '5', '10', '20', '50'];

export interface WhatIfProps {
  readonly move: Move;
  /** The coins of the positions that are shown. */
  readonly coins: readonly string[];
  /**
   * The figures after the moves; undefined if no mark is moved, or if the markets' margin tiers are
   * not known yet.
   */
  readonly hypothetical: Hypothetical | undefined;
  /** The reason why the markets' margin tiers are not known; undefined if there is no problem. */
  readonly refusal: Refusal | undefined;
  setWhatIf(move: Move): void;
}

export function WhatIf(props: WhatIfProps) {
  const { move, hypothetical, refusal, setWhatIf } = props;
  const slider = useRef<HTMLInputElement>(null);
  const isActive = isMoved(move);
  useEffect(() => {
    if (!isActive) return undefined;
    const reset = (event: KeyboardEvent) => {
      // If a dialog is open, Escape closes the dialog and does not reset the moves.
      const isTaken = document.querySelector('dialog[open]') !== null;
      if (event.key === 'Escape' && !isTaken) setWhatIf(NO_MOVE);
    };
    addEventListener('keydown', reset);
    return () => removeEventListener('keydown', reset);
  }, [isActive]);
  const reset = () => {
    setWhatIf(NO_MOVE);
    slider.current?.focus();
  };
  return (
    <section class="what-if" aria-label="What if">
      <div class="what-if-controls">
        <CoinChoice {...props} />
        <Slider {...props} element={slider} />
        <PercentField {...props} />
        <Presets {...props} />
      </div>
      <div class={isActive ? 'what-if-banner' : 'hidden'}>
        <p role="status" data-field="hypothesis">
          {isActive && (
            <>
              <strong>Hypothetical:</strong> {describeMove(move)}. None of this has happened.
            </>
          )}
        </p>
        {isActive && (
          <button type="button" aria-keyshortcuts="Escape" onClick={reset}>
            Reset <kbd>Esc</kbd>
          </button>
        )}
      </div>
      {isActive && hypothetical === undefined && <Waiting refusal={refusal} />}
      {hypothetical !== undefined && <WhatIfResult hypothetical={hypothetical} />}
    </section>
  );
}

function describePercent(percent: string): string {
  return `${withSign(percent, group(percent))} %`;
}

function describeMove({ coin, percent }: Move): string {
  const what = coin === undefined ? 'all marks' : `the mark of ${coin}`;
  return `${what} ${describePercent(percent)}`;
}

function CoinChoice({ move, coins, setWhatIf }: WhatIfProps) {
  const { coin } = move;
  // The position of the chosen coin may have been closed. The list then still has the coin.
  const listed = coin === undefined || coins.includes(coin) ? coins : [coin, ...coins];
  return (
    <div>
      <label for="what-if-coin">Move</label>{' '}
      <select
        id="what-if-coin"
        value={coin ?? ''}
        onChange={({ currentTarget: { value } }) =>
          setWhatIf({ ...move, coin: value === '' ? undefined : value })
        }
      >
        <option value="">all marks</option>
        {listed.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

interface SliderProps extends WhatIfProps {
  readonly element: RefObject<HTMLInputElement | null>;
}

function Slider({ move, setWhatIf, element }: SliderProps) {
  return (
    <input
      ref={element}
      class="what-if-slider"
      type="range"
      min={PERCENT_MIN}
      max={PERCENT_MAX}
      step="1"
      aria-label="Move by per cent"
      aria-valuetext={describePercent(move.percent)}
      value={move.percent}
      onInput={({ currentTarget }) => setWhatIf({ ...move, percent: currentTarget.value })}
    />
  );
}

function PercentField({ move, setWhatIf }: WhatIfProps) {
  const [draft, setDraft] = useState(move.percent);
  useEffect(() => {
    if (readPercent(draft) !== move.percent) setDraft(move.percent);
  }, [move.percent]);
  const isWrong = readPercent(draft) === undefined;
  const change = (typed: string) => {
    setDraft(typed);
    const percent = readPercent(typed);
    if (percent !== undefined) setWhatIf({ ...move, percent });
  };
  return (
    <div class="what-if-percent">
      <label for="what-if-percent">
        by<span class="hidden"> per cent</span>
      </label>{' '}
      <input
        id="what-if-percent"
        autocomplete="off"
        aria-invalid={isWrong}
        aria-describedby="what-if-range"
        value={draft}
        onInput={({ currentTarget }) => change(currentTarget.value)}
        onBlur={() => setDraft(move.percent)}
      />{' '}
      %
      <span id="what-if-range" class={isWrong ? 'problem-code small' : 'hidden'}>
        from {group(`${PERCENT_MIN}`)} to {PERCENT_MAX}, at most {PERCENT_DECIMALS_MAX} decimals
      </span>
    </div>
  );
}

function Presets({ move, setWhatIf }: WhatIfProps) {
  return (
    <fieldset class="what-if-presets">
      <legend class="hidden">Common moves</legend>
      {PRESETS.map((percent) => (
        <button
          key={percent}
          type="button"
          class="quiet"
          aria-pressed={percent === move.percent}
          onClick={() => setWhatIf({ ...move, percent })}
        >
          {describePercent(percent)}
        </button>
      ))}
    </fieldset>
  );
}

function Waiting({ refusal }: { refusal: Refusal | undefined }) {
  if (refusal === undefined) return <p class="muted small">Asking for the margin tiers…</p>;
  return <p class="problem">The margin tiers are not known: {refusal.message}</p>;
}

function WhatIfResult({ hypothetical }: { hypothetical: Hypothetical }) {
  const { changeRatio } = hypothetical;
  const outcomes = [...hypothetical.positions.values()].map(({ outcome }) => outcome);
  const liquidated = outcomes.filter((outcome) => outcome === 'liquidated').length;
  return (
    <>
      <dl class="stats hypothetical-stats">
        <Stat label="Account value then">
          <Figure text={hypothetical.accountValue} field="hypotheticalValue" decimals={2} />
        </Stat>
        <Stat label="Change">
          <SignedFigure text={hypothetical.change} field="hypotheticalChange" />
          {changeRatio !== undefined && (
            <>
              {' '}
              (<SignedFigure text={changeRatio} field="hypotheticalChangeRatio" /> %)
            </>
          )}
        </Stat>
        <Stat label="Unrealized profit then">
          <SignedFigure text={hypothetical.unrealizedPnl} field="hypotheticalPnl" />
        </Stat>
        <Stat
          label="Would be liquidated"
          field="liquidatedCount"
          tone={liquidated > 0 ? 'loss' : ''}
        >
          {liquidated === 0 ? 'none' : `${liquidated} of ${outcomes.length}`}
        </Stat>
      </dl>
      <p class="muted small">
        Value and profit are those before anything is liquidated.
        {outcomes.includes('backed') && ` ${BACKED}`}
        {outcomes.includes('unknown') && ` ${UNKNOWN}`}
      </p>
    </>
  );
}

const BACKED =
  'Cross positions with a question mark have less margin than they need, but collateral from outside ' +
  'of the account backs them, and the answer does not say how much.';
const UNKNOWN =
  'Where the outcome is unknown, the margin tiers of the market do not give the figures of the answer.';
