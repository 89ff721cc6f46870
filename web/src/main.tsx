/** Starts the page: takes the key out of the address, connects, and draws on every change. */

import './styles/base.css';
import './styles/top.css';
import './styles/panels.css';
import './styles/tables.css';
import './styles/dialog.css';
import './styles/states.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { DexScout } from './dexes.ts';
import { Feed } from './feed.ts';
import type { Actions } from './header.tsx';
import { type Handed, loadUser, onKeyForgotten, saveUser, takeFragment } from './storage.ts';
import { groupRounded } from './text.ts';
import { isCurrent, Store, type View } from './view.ts';

/** Ages and countdowns advance even without new data. */
const TICK_MS = 1_000;

const root = document.getElementById('root') as HTMLElement;
const handed = takeFragment();
const store = new Store(draw);
const feed = new Feed(store);
const scout = new DexScout(store);

const actions: Actions = {
  useKey(key) {
    feed.setKey(key);
    scout.look();
  },
  forgetKey() {
    feed.setKey('');
  },
  select(user, dex) {
    const isNew = user !== store.view.user;
    saveUser(user);
    feed.select(user, dex);
    if (isNew) scout.look();
  },
};

function draw(view: View): void {
  render(<App view={view} actions={actions} />, root);
  document.title = formatTitle(view);
}

/** The account value, readable in a row of browser tabs. */
function formatTitle(view: View): string {
  const state = view.account.answer?.value;
  if (state === undefined) return 'perpinfo';
  const value = groupRounded(state.marginSummary.accountValue, 2);
  return `${isCurrent(view, view.account) ? '' : '(old) '}${value} · perpinfo`;
}

function take({ key, examples }: Handed): void {
  const user = examples[0] ?? store.view.user;
  saveUser(user);
  store.set({ key, examples, user });
}

if (handed !== undefined) take(handed);
else store.set({ user: loadUser() || store.view.recent[0] || store.view.examples[0] || '' });
feed.start();
scout.look();

// Pasting a link into an open page changes only the fragment.
addEventListener('hashchange', () => {
  const again = takeFragment();
  if (again === undefined) return;
  take(again);
  actions.useKey(again.key);
});
onKeyForgotten(actions.forgetKey);
setInterval(() => draw(store.view), TICK_MS);
