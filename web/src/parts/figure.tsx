/** A figure with grouped digits, and with its complete text on hover. */

import { group, groupRounded, withSign } from '../figures/text.ts';

interface FigureProps {
  /** The text of the endpoint, or a text that was computed exactly from texts of the endpoint. */
  readonly text: string;
  /** The name of its field, for tests and scripts. */
  readonly field: string;
  /** The number of decimals that are shown; undefined means all. */
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

/** Returns the class of a gain or a loss; returns an empty text for zero. */
export function toneOf(text: string): string {
  if (!/[1-9]/.test(text)) return '';
  return text.startsWith('-') ? 'loss' : 'gain';
}

/** A gain or a loss with its sign. The colour repeats the sign. */
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
