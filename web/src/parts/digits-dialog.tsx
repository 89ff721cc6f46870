/** Figures with all their digits, each to be copied: what a mouse sees on hover, for everybody. */

import { useState } from 'preact/hooks';
import type { NamedFigure } from '../figures/all-digits.ts';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

interface DigitsDialogProps {
  readonly title: string;
  readonly figures: readonly NamedFigure[];
  close(): void;
}

export function DigitsDialog({ title, figures, close }: DigitsDialogProps) {
  // Frozen when the dialog opens: a changing figure cannot be copied.
  const [shown] = useState(figures);
  return (
    <Dialog name="digits" title={`${title}: all digits`} close={close}>
      <dl class="digits">
        {shown.map(({ label, text }) => (
          <div key={label}>
            <dt class="muted">{label}</dt>
            <dd data-digits={label}>{text}</dd>
            <dd>
              <CopyButton text={text} label="Copy" subject={label} />
            </dd>
          </div>
        ))}
      </dl>
      <p class="muted small">As they were when this was opened.</p>
    </Dialog>
  );
}
