/** The fields in which a person chooses an account and a dex. */

import { useEffect, useState } from 'preact/hooks';
import type { Actions } from './actions.ts';
import { AddressTools } from './address-tools.tsx';
import { holdingsOf, pickDex } from './figures/all-dexes.ts';
import { nameDex, quoteInput } from './figures/text.ts';
import { entryOf, findAddress, nameOf } from './view/address-book.ts';
import type { Dex, View } from './view/store.ts';

/** On a phone the chooser is folded as soon as an account is shown. */
export function Chooser({ view, actions }: { view: View; actions: Actions }) {
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
      {/* The height of this line is fixed, so that its changes do not move the page below it. */}
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
  return `${quoteInput(typed)} is not an address, expected 0x and 40 hexadecimal digits, or a label`;
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

/**
 * Lists the dexes of the account's answer, because the answer is newer than the list with the full
 * names.
 */
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
  /** The name of the dex; undefined means all dexes. */
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
