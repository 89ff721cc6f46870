/**
 * A dialog with all digits of some figures, each with a button that copies it. A mouse shows all
 * digits on hover; this dialog serves keyboards and touch screens, too.
 */

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
  // The figures are frozen when the dialog opens, because nobody can copy a figure that changes.
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
