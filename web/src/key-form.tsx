/** Asks for the key. It is kept in the browser's storage and sent to this service only. */

import { useState } from 'preact/hooks';

interface KeyFormProps {
  /** Why the last key does not work. */
  readonly problem: string;
  use(key: string): void;
}

/** People also paste the whole endpoint or a client's base address. */
function readKey(text: string): string {
  const [, key = text] = /^(?:\w+:\/\/[^/]+)?\/([^/]+)(?:\/+(?:info)?)?\/?$/.exec(text) ?? [];
  return key.trim();
}

export function KeyForm({ problem, use }: KeyFormProps) {
  const [draft, setDraft] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    const key = readKey(draft.trim());
    if (key !== '') use(key);
  };
  return (
    <section class="panel key-panel" aria-labelledby="key-title">
      <h2 id="key-title">{problem === '' ? 'Connect' : 'This key does not work'}</h2>
      {problem !== '' && (
        <p class="problem" role="alert" id="key-problem">
          {problem}
        </p>
      )}
      <form onSubmit={submit} class="key-form">
        <label for="key">Endpoint key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-describedby="key-hint"
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Connect
        </button>
      </form>
      <p class="muted small" id="key-hint">
        The path segment before <code>/info</code>, as <code>perpinfo keys create</code> prints it,
        or the whole address. It stays in this browser until you let it forget it.
      </p>
    </section>
  );
}
