/** The frame of a panel: its title, the origin of its answer, its question, and its error. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { NamedFigure } from '../figures/all-digits.ts';
import type { Answer } from '../figures/answers.ts';
import { formatAge, formatCount, formatTime } from '../figures/text.ts';
import { accountAgeMs, isCurrent, isUnchanged } from '../view/selectors.ts';
import type { Panel, View } from '../view/store.ts';
import { CurlDialog } from './curl-dialog.tsx';
import { DigitsDialog } from './digits-dialog.tsx';

interface FrameProps {
  readonly name: string;
  readonly title: string;
  readonly view: View;
  readonly panel: Panel<unknown>;
  readonly extra?: ComponentChildren;
  /** Buttons that are shown before the button "curl". */
  readonly tools?: ComponentChildren;
  /**
   * The figures of the panel with all digits. Panels with rows do not have it, because each row has
   * a dialog with its digits.
   */
  readonly digits?: (() => readonly NamedFigure[]) | undefined;
  /** False if another panel with the same question shows the error. */
  readonly showsProblem?: boolean;
  readonly children: ComponentChildren;
}

export function Frame(props: FrameProps) {
  const { name, title, view, panel, extra, tools, digits, showsProblem = true, children } = props;
  const [opened, setOpened] = useState<'curl' | 'digits'>();
  const close = () => setOpened(undefined);
  const { answer, question } = panel;
  const isOld = answer !== undefined && !isCurrent(view, panel);
  return (
    <section
      class={`panel panel-${name} ${isOld ? 'is-old' : ''}`}
      aria-labelledby={`title-${name}`}
      data-height={answer?.height}
      data-account-time={answer?.accountTime}
    >
      <header class="panel-head">
        <h2 id={`title-${name}`}>{title}</h2>
        {extra}
        <span class="spacer" />
        {isOld && (
          <span class="tag tag-old">{view.at === undefined ? 'not current' : 'asking…'}</span>
        )}
        {answer !== undefined && <Origin view={view} answer={answer} />}
        {tools}
        {digits !== undefined && (
          <button type="button" class="quiet" onClick={() => setOpened('digits')}>
            All digits<span class="hidden"> of {title}</span>
          </button>
        )}
        {question !== undefined && (
          <button type="button" class="quiet" onClick={() => setOpened('curl')}>
            curl<span class="hidden"> for {title}</span>
          </button>
        )}
      </header>
      {showsProblem && <PanelProblem view={view} panel={panel} />}
      {children}
      {opened === 'curl' && question !== undefined && (
        <CurlDialog {...{ title, question, answer, close }} apiKey={view.key} />
      )}
      {opened === 'digits' && digits !== undefined && (
        <DigitsDialog title={title} figures={digits()} close={close} />
      )}
    </section>
  );
}

const OWN_ANSWER =
  'The ledger does not hold this account, or not on every dex: its rules do not give the same ' +
  'figures. What is shown is what the exchange answers, and is in no block.';

/** Shows where an answer is from: its ledger height, and when the exchange was last asked. */
function Origin({ view, answer }: { view: View; answer: Answer }) {
  const { height, accountTime } = answer;
  const ageMs = accountAgeMs(view, answer);
  return (
    <>
      {height === undefined ? (
        <span class="tag tag-own" title={OWN_ANSWER}>
          the exchange’s own answer
        </span>
      ) : (
        <span class="height muted small" title="the ledger height of this answer">
          {isUnchanged(view, answer) && 'unchanged since '}
          height <span class="figure">{formatCount(height)}</span>
        </span>
      )}
      {accountTime !== undefined && ageMs !== undefined && (
        <span class="muted small" title={`read from the exchange at ${formatTime(accountTime)}`}>
          read <span class="figure">{formatAge(ageMs)}</span> ago
        </span>
      )}
    </>
  );
}

/**
 * Shows the service's error message. If the service cannot be reached, the banner says so once for
 * all panels.
 */
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
