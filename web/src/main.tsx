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
import { judgeAccount, type States, type Verdict } from './risk.ts';
import { type Handed, loadUser, onKeyForgotten, saveUser, takeFragment } from './storage.ts';
import { drawTab } from './tab.ts';
import { Store, statesOf, type View } from './view.ts';

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
  chooseRange(range) {
    store.set({ range });
  },
};

/** The last verdict, and what it was about. */
let judged: { readonly states: States; readonly verdict: Verdict } | undefined;

/** Judged once for each answer: there may be hundreds of positions. */
function judge(view: View): Verdict {
  const states = statesOf(view);
  if (judged === undefined || !areSame(states, judged.states)) {
    judged = { states, verdict: judgeAccount(states) };
  }
  return judged.verdict;
}

function areSame(one: States, other: States): boolean {
  return one.length === other.length && one.every(([, state], index) => state === other[index][1]);
}

function draw(view: View): void {
  const verdict = judge(view);
  render(<App view={view} verdict={verdict} actions={actions} />, root);
  drawTab(view, verdict);
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
