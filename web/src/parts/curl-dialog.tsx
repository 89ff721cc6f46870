/** The question behind a panel as a line for the shell, and its answer. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answer, Question } from '../figures/answers.ts';
import { basePath, infoPath } from '../service/service.ts';

interface CurlDialogProps {
  readonly title: string;
  readonly question: Question;
  readonly answer: Answer | undefined;
  readonly apiKey: string;
  close(): void;
}

/** The mask shown in place of the key. */
const HIDDEN_KEY = '\u2022\u2022\u2022\u2022\u2022\u2022\u2022\u2022';

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function formatCurl(path: string, question: Question): string {
  const body = quoteForShell(JSON.stringify(question));
  const address = quoteForShell(location.origin + path);
  return `curl -s ${address} -H 'Content-Type: application/json' -d ${body}`;
}

function describePlace({ height }: Answer): string {
  return height === undefined
    ? 'The exchange’s own answer'
    : `Answer at height ${height.toLocaleString('en')}`;
}

/** The clipboard API needs a secure origin; selecting and copying works everywhere. */
async function copyText(text: string, within: HTMLElement): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  within.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

function CopyButton({ text, label }: { text: string; label: string }) {
  const [outcome, setOutcome] = useState('');
  const copy = (event: MouseEvent) => {
    const within = event.currentTarget as HTMLElement;
    copyText(text, within.parentElement ?? within).then(
      () => setOutcome('copied'),
      () => setOutcome('the browser did not allow it'),
    );
  };
  return (
    <span class="copy">
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status" class="muted small">
        {outcome}
      </span>
    </span>
  );
}

export function CurlDialog({ title, question, answer, apiKey, close }: CurlDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // The text is frozen when the dialog opens: nobody can copy a moving text.
  const [shown] = useState({ question, answer });
  useEffect(() => dialog.current?.showModal(), []);
  const answerText = JSON.stringify(shown.answer?.value, null, 2);
  return (
    <dialog ref={dialog} class="curl" aria-labelledby="curl-title" onClose={close}>
      <header class="panel-head">
        <h2 id="curl-title">{title}: question and answer</h2>
        <span class="spacer" />
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      <pre class="code wrap" data-curl={question.type}>
        {formatCurl(`/${HIDDEN_KEY}/info`, shown.question)}
      </pre>
      <CopyButton text={formatCurl(infoPath(apiKey), shown.question)} label="Copy as curl" />
      <p class="small">
        Clients take <code data-base>{`${location.origin}/${HIDDEN_KEY}/`}</code> as their base
        address, with the slash at its end.
      </p>
      <CopyButton text={location.origin + basePath(apiKey)} label="Copy the base address" />
      <p class="muted small">What is copied holds your key.</p>
      {shown.answer !== undefined && (
        <>
          <h3>{describePlace(shown.answer)}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
          <section class="code answer" tabIndex={0} aria-label="the answer">
            <pre data-answer={shown.answer.height ?? 'upstream'}>{answerText}</pre>
          </section>
          <CopyButton text={answerText} label="Copy the answer" />
        </>
      )}
    </dialog>
  );
}
