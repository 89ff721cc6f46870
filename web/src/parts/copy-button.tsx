/** A button that copies a text, with the result next to the button. */

import { useState } from 'preact/hooks';
import { copyText } from './clipboard.ts';

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  /** Says to screen readers what is copied, if the label does not say so. */
  readonly subject?: string;
}

export function CopyButton({ text, label, subject = '' }: CopyButtonProps) {
  const [outcome, setOutcome] = useState('');
  const copy = () => {
    copyText(text).then(
      () => setOutcome('copied'),
      () => setOutcome('the browser did not allow it'),
    );
  };
  return (
    <span class="copy">
      <button type="button" onClick={copy}>
        {label}
        {subject !== '' && <span class="hidden"> {subject}</span>}
      </button>
      <span role="status" class="muted small">
        {outcome}
      </span>
    </span>
  );
}
