/** The frame of a panel: title, ledger height, its question, and its error. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { CurlDialog } from './curl-dialog.tsx';
import { isCurrent, type Panel, type View } from './view.ts';

interface FrameProps {
  readonly name: string;
  readonly title: string;
  readonly view: View;
  readonly panel: Panel<unknown>;
  readonly extra?: ComponentChildren;
  /** False where another panel with the same question shows the error. */
  readonly tellsProblem?: boolean;
  readonly children: ComponentChildren;
}

export function Frame(props: FrameProps) {
  const { name, title, view, panel, extra, tellsProblem = true, children } = props;
  const [isOpen, setOpen] = useState(false);
  const { answer, question } = panel;
  const isOld = answer !== undefined && !isCurrent(view, panel);
  return (
    <section
      class={`panel panel-${name} ${isOld ? 'is-old' : ''}`}
      aria-labelledby={`title-${name}`}
      data-height={answer?.height}
    >
      <header class="panel-head">
        <h2 id={`title-${name}`}>{title}</h2>
        {extra}
        <span class="spacer" />
        {isOld && <span class="tag tag-old">not current</span>}
        {answer !== undefined && (
          <span class="muted small" title="the ledger height of this answer">
            height <span class="figure">{answer.height.toLocaleString('en')}</span>
          </span>
        )}
        {question !== undefined && (
          <button type="button" class="quiet" onClick={() => setOpen(true)}>
            curl<span class="hidden"> for {title}</span>
          </button>
        )}
      </header>
      {tellsProblem && <PanelProblem view={view} panel={panel} />}
      {children}
      {isOpen && question !== undefined && (
        <CurlDialog
          {...{ title, question, answer }}
          apiKey={view.key}
          close={() => setOpen(false)}
        />
      )}
    </section>
  );
}

/** The service's message; being unreachable is reported once, in the header. */
function PanelProblem({ view, panel }: Pick<FrameProps, 'view' | 'panel'>) {
  const { refusal } = panel;
  if (refusal === undefined || view.link.state === 'offline') return null;
  const code = refusal.status === 0 ? '' : `${refusal.status} ${refusal.code} `;
  return (
    <p class="problem" role="alert">
      <span class="problem-code">{code}</span>
      {refusal.message}
    </p>
  );
}
