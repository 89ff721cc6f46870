/** The root component of the page. */

import { AccountPanel } from './account/account.tsx';
import { AuctionPanel } from './account/auction.tsx';
import { PositionsPanel } from './account/positions.tsx';
import { StakesPanel } from './account/stakes.tsx';
import { UpstreamPanel } from './account/upstream.tsx';
import type { Actions } from './actions.ts';
import { AccountName } from './board/account-name.tsx';
import { BoardPanel, type BoardParts } from './board/board.tsx';
import type { Verdict } from './figures/risk.ts';
import { formatAge, formatCount } from './figures/text.ts';
import { Header } from './header.tsx';
import { KeyForm } from './key-form.tsx';
import { TimeBar } from './time-bar.tsx';
import { PACES } from './view/pace.ts';
import { ledgerAgeMs } from './view/selectors.ts';
import type { View } from './view/store.ts';

interface AppProps {
  readonly view: View;
  /** The verdict about the account that is shown. */
  readonly verdict: Verdict;
  readonly actions: Actions;
  readonly board: BoardParts;
}

export function App({ view, verdict, actions, board }: AppProps) {
  const needsKey = view.key === '' || view.keyProblem !== '';
  return (
    <>
      <Header view={view} actions={actions} />
      {view.keyProblem === '' && <Banner view={view} />}
      <main class={view.isBoard ? 'wide' : ''}>
        {needsKey && <KeyForm problem={view.keyProblem} use={actions.useKey} />}
        {view.isBoard && view.key !== '' && <BoardPanel {...{ view, board, actions }} />}
        {!view.isBoard && !needsKey && <TimeBar {...{ view, actions }} />}
        {!view.isBoard && (!needsKey || view.account.answer !== undefined) && (
          <Panels {...{ view, verdict, actions }} />
        )}
      </main>
      <Footer paceMs={view.paceMs} setPace={actions.setPace} />
      <p class="notice" role="status">
        {view.notice}
      </p>
    </>
  );
}

function Panels({ view, verdict, actions }: Omit<AppProps, 'board'>) {
  if (view.user === '') {
    return (
      <div class="grid">
        <section class="panel panel-account" aria-label="Account">
          <p class="empty">Enter an address above to see its account and its stakes.</p>
        </section>
        <AuctionPanel key={view.at} view={view} />
        <UpstreamPanel view={view} />
      </div>
    );
  }
  return (
    <div class="grid">
      <AccountName key={view.user} {...{ view, actions }} />
      <AccountPanel {...{ view, verdict, actions }} />
      <AuctionPanel key={view.at} view={view} />
      <PositionsPanel
        view={view}
        sortBy={actions.sortBy}
        setWhatIf={actions.setWhatIf}
        showNotice={actions.showNotice}
      />
      <StakesPanel view={view} />
      <UpstreamPanel view={view} />
    </div>
  );
}

/** A banner that is shown while the figures are stale or the page is offline. */
function Banner({ view }: { view: View }) {
  const { state, message } = view.link;
  const isWrong = state === 'stale' || state === 'offline';
  const what = state === 'offline' ? 'Not connected' : 'Data is stale';
  const { freshness, at } = view;
  // Past figures do not become stale, but the page cannot ask for them while it is offline.
  if (at !== undefined && state !== 'offline') return null;
  return (
    <section class={isWrong ? 'banner' : ''} aria-label="State of the data">
      <span role="alert">{isWrong && `${what}: ${message}.`}</span>
      {isWrong && freshness !== undefined && at === undefined && (
        <span>
          {' '}
          What is shown is of height {formatCount(freshness.height)}, now{' '}
          {formatAge(ledgerAgeMs(view))} old.
        </span>
      )}
    </section>
  );
}

const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

type FooterProps = Pick<View, 'paceMs'> & Pick<Actions, 'setPace'>;

function Footer({ paceMs, setPace }: FooterProps) {
  return (
    <footer class="foot muted small">
      <nav aria-label="About this service">
        <a href="/openapi.json">openapi.json</a>
        <a href="/llms.txt">llms.txt</a>
        <a href="/health">health</a>
      </nav>
      <label>
        New figures{' '}
        <select onChange={({ currentTarget }) => setPace(Number(currentTarget.value))}>
          {PACES.map(({ ms, name }) => (
            <option key={ms} value={ms} selected={ms === paceMs}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <span>
        Amounts are in USDC; stakes and gas are in the network’s token. Times are those of{' '}
        {TIME_ZONE}.
      </span>
    </footer>
  );
}
