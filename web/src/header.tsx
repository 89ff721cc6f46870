/** The part of the page that is always visible: the account, the dex, and how fresh the data is. */

import { UpstreamState } from './account/upstream.tsx';
import type { Actions } from './actions.ts';
import { Chooser } from './chooser.tsx';
import { formatAge, formatCount, formatTime } from './figures/text.ts';
import { ForgetKey } from './forget-key.tsx';
import { PastLine } from './time-bar.tsx';
import { isAging, ledgerAgeMs } from './view/selectors.ts';
import type { LinkState, View } from './view/store.ts';
import { formatUrlState } from './view/url-state.ts';

export function Header({ view, actions }: { view: View; actions: Actions }) {
  const isConnected = view.key !== '';
  return (
    <header class={view.at === undefined ? 'top' : 'top is-past'}>
      <h1 class="brand">perpinfo</h1>
      {isConnected && <Tabs view={view} />}
      {view.at === undefined || view.keyProblem !== '' ? (
        <FreshnessLine view={view} />
      ) : (
        <PastLine view={view} at={view.at} showAt={actions.showAt} />
      )}
      {isConnected && <ForgetKey forget={actions.forgetKey} />}
      {isConnected && view.keyProblem === '' && !view.isBoard && (
        <Chooser view={view} actions={actions} />
      )}
    </header>
  );
}

/** The two views of the page, as links, so that a person can open them in separate tabs. */
function Tabs({ view }: { view: View }) {
  const places = [
    { label: 'Account', isBoard: false },
    { label: 'Board', isBoard: true },
  ];
  return (
    <nav class="tabs" aria-label="Views">
      {places.map(({ label, isBoard }) => (
        <a
          key={label}
          href={formatUrlState({ ...view, isBoard }) || '#'}
          aria-current={view.isBoard === isBoard ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

const LINK_WORDS: Readonly<Record<LinkState, string>> = {
  connecting: 'connecting',
  live: 'live',
  stale: 'stale data',
  offline: 'not connected',
};
/** A shape for each state, so that no state depends on colour alone. */
const LINK_SHAPES: Readonly<Record<LinkState, string>> = {
  connecting: '\u25CC',
  live: '\u25CF',
  stale: '\u25A0',
  offline: '\u2715',
};

const AGING_SHAPE = '\u25D0';

function FreshnessLine({ view }: { view: View }) {
  const { link, freshness, key } = view;
  const isOld = isAging(view);
  const how = link.state !== 'live' || key === '' ? '' : link.isPush ? ', pushed' : ', polled';
  if (view.keyProblem !== '') return <KeyRefused />;
  return (
    <dl class="freshness">
      <div class={`link link-${isOld ? 'aging' : link.state}`}>
        <dt class="hidden">Connection</dt>
        <dd>
          <span aria-hidden="true">{isOld ? AGING_SHAPE : LINK_SHAPES[link.state]} </span>
          <span role="status" data-field="connection">
            {LINK_WORDS[link.state]}
            {how}
          </span>
        </dd>
      </div>
      <div>
        <dt>Height</dt>
        <dd class="figure" data-field="height">
          {freshness === undefined ? '\u2013' : formatCount(freshness.height)}
        </dd>
      </div>
      <div>
        <dt>Age</dt>
        <dd
          class="figure age"
          data-field="age"
          title={freshness && `ledger time ${formatTime(freshness.time)}`}
        >
          {freshness === undefined ? '\u2013' : formatAge(ledgerAgeMs(view))}
        </dd>
      </div>
      <UpstreamState view={view} />
    </dl>
  );
}

/** If the key is refused, the page does not know how fresh the ledger is. */
function KeyRefused() {
  return (
    <dl class="freshness">
      <div class="link link-offline">
        <dt class="hidden">Connection</dt>
        <dd>
          <span aria-hidden="true">{LINK_SHAPES.offline} </span>
          <span role="status" data-field="connection">
            key refused
          </span>
        </dd>
      </div>
    </dl>
  );
}
