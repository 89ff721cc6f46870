/** Asks for the key. The browser stores the key and sends it to this service only. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { readKey } from './view/key-address.ts';

interface KeyFormProps {
  /** The reason why the last key does not work; empty if there is no problem. */
  readonly problem: string;
  use(key: string): void;
}

export function KeyForm({ problem, use }: KeyFormProps) {
  const [draft, setDraft] = useState('');
  const [fault, setFault] = useState('');
  const input = useFreeFocus();
  const submit = (event: Event) => {
    event.preventDefault();
    const read = readKey(draft, location.origin);
    setFault('problem' in read ? read.problem : '');
    if ('key' in read) use(read.key);
    else input.current?.focus();
  };
  const shown = fault || problem;
  return (
    <section class="panel key-panel" aria-labelledby="key-title">
      <h2 id="key-title">{problem === '' ? 'Connect' : 'This key does not work'}</h2>
      <p class={shown === '' ? 'hidden' : 'problem'} role="alert" id="key-problem">
        {shown}
      </p>
      <form onSubmit={submit} class="key-form">
        <label for="key">Endpoint key</label>
        <input
          id="key"
          ref={input}
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={fault !== ''}
          aria-describedby="key-problem key-hint"
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Connect
        </button>
      </form>
      <p class="muted small" id="key-hint">
        As <code>perpinfo keys create</code> prints it, or any address with the key in it, such as{' '}
        <code>{location.origin}/KEY/info</code>. It stays in this browser until you choose “Forget
        key”.
      </p>
    </section>
  );
}

/** Gives the focus to the input if no other element has it, for example after "Forget key". */
function useFreeFocus() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) input.current?.focus();
  }, []);
  return input;
}
