/** A value with its label, as an element of a list of figures. */

import type { ComponentChildren } from 'preact';

interface StatProps {
  readonly label: string;
  readonly title?: string | undefined;
  readonly size?: 'main' | 'wide';
  /**
   * The name of the field. It is used if the children are a text, not a figure with its own name.
   */
  readonly field?: string;
  readonly tone?: string;
  readonly children: ComponentChildren;
}

export function Stat({ label, title, size, field, tone = 'figure', children }: StatProps) {
  return (
    <div class={size === undefined ? 'stat' : `stat stat-${size}`} title={title}>
      <dt>{label}</dt>
      <dd class={field && tone} data-field={field}>
        {children}
      </dd>
    </div>
  );
}
