/** A figure: grouped for reading, complete on hover. */

import { group, groupRounded, withSign } from '../figures/text.ts';

interface FigureProps {
  /** The endpoint's own text, or one that was computed from it exactly. */
  readonly text: string;
  /** The name of its field, for tests and scripts. */
  readonly field: string;
  /** Decimals shown on the page; all where undefined. */
  readonly decimals?: number;
  readonly suffix?: string;
}

export function Figure({ text, field, decimals, suffix = '' }: FigureProps) {
  const shown = decimals === undefined ? group(text) : groupRounded(text, decimals);
  return (
    <span class="figure" title={text} data-field={field}>
      {shown}
      {suffix}
    </span>
  );
}

/** Gain, loss, or nothing. */
export function toneOf(text: string): string {
  if (!/[1-9]/.test(text)) return '';
  return text.startsWith('-') ? 'loss' : 'gain';
}

/** Gain or loss: the sign says it, the colour repeats it. */
export function SignedFigure({ text, field, decimals = 2 }: FigureProps) {
  return (
    <span class={`figure ${toneOf(text)}`} title={text} data-field={field}>
      {withSign(text, groupRounded(text, decimals))}
    </span>
  );
}

export function Bar({ share, tone, label }: { share: number; tone: string; label: string }) {
  return (
    <span class="bar" title={label} aria-hidden="true">
      <span class={`bar-fill ${tone}`} style={{ width: `${(share * 100).toFixed(1)}%` }} />
    </span>
  );
}
