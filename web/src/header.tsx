/** The part of the page that is always visible: the account, the dex, and how fresh the data is. */

import { useEffect, useState } from 'preact/hooks';
import type { ChartActions } from './account/account.tsx';
import { UpstreamState } from './account/upstream.tsx';
import { AddressTools } from './address-tools.tsx';
import type { BoardActions } from './board/board.tsx';
import { holdingsOf, pickDex } from './figures/all-dexes.ts';
import type { Sort } from './figures/position-figures.ts';
import { formatAge, formatCount, formatTime, nameDex, quoteTyped } from './figures/text.ts';
import type { Move } from './figures/what-if.ts';
import { ForgetKey } from './forget-key.tsx';
import { PastLine, type TimeActions } from './time-bar.tsx';
import { entryOf, findAddress, nameOf } from './view/address-book.ts';
import { formatPlace } from './view/place.ts';
import { isAging, ledgerAgeMs } from './view/selectors.ts';
import type { Dex, LinkState, View } from './view/store.ts';

export interface Actions extends BoardActions, ChartActions, TimeActions {
  useKey(key: string): void;
  forgetKey(isWithAddresses: boolean): void;
  /** Shows an account on one dex, or on all if it is undefined. */
  select(user: string, dex: string | undefined): void;
  sortBy(sort: Sort | undefined): void;
  /** Shows the account as if marks had moved; undefined closes "What if". */
  setWhatIf(move: Move | undefined): void;
  /** Shows new figures as often as this. */
  setPace(paceMs: number): void;
  /** Shows for some seconds what was done. */
  showNotice(notice: string): void;
}

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
          href={formatPlace({ ...view, isBoard }) || '#'}
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

/** With a refused key, nothing is known about freshness. */
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

/** On a phone it is folded, once an account is shown. */
function Chooser({ view, actions }: { view: View; actions: Actions }) {
  const { user } = view;
  const [isOpen, setIsOpen] = useState(user === '');
  useEffect(() => setIsOpen(user === ''), [user]);
  return (
    <div class={isOpen ? 'chooser is-open' : 'chooser'}>
      <button
        type="button"
        class="chooser-toggle"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {isOpen ? 'Close' : 'Other account or dex…'}
      </button>
      <AddressForm view={view} actions={actions} />
      <DexPicker view={view} actions={actions} />
    </div>
  );
}

function AddressForm({ view, actions }: { view: View; actions: Actions }) {
  const { user, dex, recent, examples, book } = view;
  const [draft, setDraft] = useState(user);
  useEffect(() => setDraft(user), [user]);
  const [problem, setProblem] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    const address = findAddress(book, draft);
    setProblem(address === undefined ? describeBadAddress(draft) : '');
    if (address !== undefined) actions.select(address, dex);
  };
  const change = (typed: string) => {
    setDraft(typed);
    setProblem('');
  };
  const suggestions = [...new Set([...examples, ...recent, ...book.keys()])];
  return (
    <form class="address" onSubmit={submit}>
      <label for="user">Address</label>
      <input
        id="user"
        list="addresses"
        placeholder="0x…"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={problem !== ''}
        aria-describedby="address-problem"
        value={draft}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <datalist id="addresses">
        {suggestions.map((address) => (
          <option key={address} value={address} label={entryOf(book, address).label} />
        ))}
      </datalist>
      <button type="submit" class="primary">
        Show
      </button>
      <AddressTools view={view} showNotice={actions.showNotice} />
      {/* The height is fixed, so that changes here move nothing below. */}
      <div class="address-line">
        <p class={problem === '' ? 'hidden' : 'problem'} role="alert" id="address-problem">
          {problem}
        </p>
        {problem === '' && (
          <>
            <AddressChips label="Examples" addresses={examples} {...{ view, actions }} />
            <AddressChips
              label="Recent"
              addresses={recent.filter((address) => !examples.includes(address)).slice(0, 4)}
              {...{ view, actions }}
            />
          </>
        )}
      </div>
    </form>
  );
}

function describeBadAddress(typed: string): string {
  return `${quoteTyped(typed)} is not an address, expected 0x and 40 hexadecimal digits, or a label`;
}

interface ChipsProps {
  readonly label: string;
  readonly addresses: readonly string[];
  readonly view: View;
  readonly actions: Actions;
}

function AddressChips({ label, addresses, view, actions }: ChipsProps) {
  if (addresses.length === 0) return null;
  return (
    <ul class="chips" aria-label={label}>
      {addresses.map((address) => (
        <li key={address}>
          <button
            type="button"
            class="chip"
            title={address}
            aria-pressed={address === view.user}
            onClick={() => actions.select(address, view.dex)}
          >
            {nameOf(view.book, address)}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Those of the account's answer, which is newer than the list with their full names. */
function listDexes({ dexes, account }: View): readonly Dex[] {
  const names = account.answer?.value.map(([name]) => name);
  if (names === undefined) return dexes;
  return names.map((name) => dexes.find((dex) => dex.name === name) ?? { name, fullName: name });
}

function countPositions({ account }: View, dex: string | undefined): number {
  return holdingsOf(pickDex(account.answer?.value ?? [], dex)).length;
}

function DexPicker({ view, actions }: { view: View; actions: Actions }) {
  const dexes = listDexes(view);
  const choose = (dex: string | undefined) => actions.select(view.user, dex);
  if (dexes.length === 1 && view.dex === undefined) return null;
  return (
    <fieldset class="dexes">
      <legend>Dex</legend>
      <DexChoice label="all" title="all dexes" {...{ view, choose }} />
      {dexes.map(({ name, fullName }) => (
        <DexChoice
          key={name}
          dex={name}
          label={nameDex(name)}
          title={fullName}
          {...{ view, choose }}
        />
      ))}
    </fieldset>
  );
}

interface DexChoiceProps {
  /** Undefined for all of them. */
  readonly dex?: string;
  readonly label: string;
  readonly title: string;
  readonly view: View;
  choose(dex: string | undefined): void;
}

function DexChoice({ dex, label, title, view, choose }: DexChoiceProps) {
  const count = countPositions(view, dex);
  return (
    <label title={title} class={count > 0 ? 'has-positions' : ''}>
      <input
        type="radio"
        name="dex"
        value={label}
        checked={dex === view.dex}
        onChange={() => choose(dex)}
      />
      <span>
        {label}
        {count > 0 && (
          <span class="count">
            <span aria-hidden="true">● {count}</span>
            <span class="hidden">, {count} positions</span>
          </span>
        )}
      </span>
    </label>
  );
}
