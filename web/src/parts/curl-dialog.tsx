/** A dialog with the question of a panel as a shell command, and with its answer. */

import { useState } from 'preact/hooks';
import type { Answer, Question } from '../figures/answers.ts';
import { formatCount } from '../figures/text.ts';
import { basePath, infoPath } from '../service/service.ts';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

interface CurlDialogProps {
  readonly title: string;
  readonly question: Question;
  readonly answer: Answer | undefined;
  readonly apiKey: string;
  close(): void;
}

/** The mask that is shown in place of the key. */
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
    : `Answer at height ${formatCount(height)}`;
}

export function CurlDialog({ title, question, answer, apiKey, close }: CurlDialogProps) {
  // The text is frozen when the dialog opens, because nobody can copy a text that changes.
  const [shown] = useState({ question, answer });
  const answerText = JSON.stringify(shown.answer?.value, null, 2);
  return (
    <Dialog name="curl" title={`${title}: question and answer`} close={close}>
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
    </Dialog>
  );
}
