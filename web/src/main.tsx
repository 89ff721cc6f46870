/** Starts the page: takes the key out of the address, connects, and draws on every change. */

import './styles/tokens.css';
import './styles/base.css';
import './styles/top.css';
import './styles/panels.css';
import './styles/tables.css';
import './styles/dialog.css';
import './styles/copying.css';
import './styles/auction.css';
import './styles/states.css';
import './styles/what-if.css';
import './styles/past.css';
import './styles/board.css';
import './styles/sheet.css';
import './styles/small.css';
import { render } from 'preact';
import type { Actions } from './actions.ts';
import { App } from './app.tsx';
import { AlarmWatch } from './board/alarm-watch.ts';
import type { BoardParts } from './board/board.tsx';
import { BoardFeed } from './board/board-feed.ts';
import { BoardRows } from './board/board-rows.ts';
import { Notifier, readNoticeState } from './board/notifier.ts';
import { RowSchedule } from './board/row-schedule.ts';
import { ShownRows } from './board/shown-rows.ts';
import { ArchiveSeriesWatch } from './feed/archive-series-watch.ts';
import { DexWatch } from './feed/dex-watch.ts';
import { Feed } from './feed/feed.ts';
import { LiveData } from './feed/live-data.ts';
import { TermsWatch } from './feed/terms-watch.ts';
import type { States } from './figures/answers.ts';
import { judgeAccount, type Verdict } from './figures/risk.ts';
import type { LevelOrUnknown } from './figures/risk-levels.ts';
import { quoteInput } from './figures/text.ts';
import { type Move, NO_MOVE } from './figures/what-if.ts';
import { copyFiguresOnClick } from './parts/clipboard.ts';
import { ask, type Refusal } from './service/service.ts';
import { drawTab } from './tab.ts';
import { updateUrl } from './view/address-bar.ts';
import { usersOnBoard } from './view/address-book.ts';
import {
  type KeyLink,
  loadBook,
  loadExamples,
  loadRecent,
  onBookChanged,
  onKeyForgotten,
  saveBook,
  takeKey,
} from './view/storage.ts';
import type { View } from './view/store.ts';
import { Store } from './view/store.ts';
import { findBadUser, readUrlState } from './view/url-state.ts';

/** The interval at which ages and countdowns advance, even without new data. */
const TICK_MS = 1_000;
/** The time for which a notice is shown: long enough to read all digits of a figure. */
const NOTICE_MS = 6_000;

const root = document.getElementById('root') as HTMLElement;
const asked = readUrlState(location.hash);
const badUser = findBadUser(location.hash);
const keyLink = takeKey();
const store = new Store(draw);
const live = new LiveData(store);
const feed = new Feed(store, live);
const dexWatch = new DexWatch(live);
const archiveSeriesWatch = new ArchiveSeriesWatch(live);
const termsWatch = new TermsWatch(live);
const schedule = new RowSchedule();
const rows = new BoardRows((user) => schedule.mark(user));
const shown = new ShownRows(rows);
const notifier = new Notifier((user) => (user === '' ? openBoard() : openAccount(user)));
const alarms = new AlarmWatch({
  ...{ live, rows },
  read: (user) => boardFeed.read(user),
  fired: (fired) => notifier.notify(fired),
});
const boardFeed = new BoardFeed({
  ...{ store, rows },
  arrived: (user) => schedule.mark(user),
  received: () => alarms.look(),
});
const board: BoardParts = {
  ...{ rows, shown, schedule, feed: boardFeed },
  take(user) {
    boardFeed.read(user);
    return shown.take(user, store.view);
  },
};

let noticeTimer: ReturnType<typeof setTimeout> | undefined;

const actions: Actions = {
  useKey(key) {
    setWhatIf(undefined);
    feed.setKey(key);
    dexWatch.look();
  },
  forgetKey(isWithAddresses) {
    setWhatIf(undefined);
    feed.setKey('');
    if (!isWithAddresses) return;
    feed.forgetAddresses();
    rows.forgetDays();
    actions.changeBook(new Map());
    updateUrl(store.view, false);
  },
  select(user, dex) {
    store.set({ isBoard: false });
    select(user, dex);
    updateUrl(store.view, true);
  },
  chooseRange(range) {
    store.set({ range });
    updateUrl(store.view, false);
  },
  chooseSpan(span) {
    store.set({ span, zoom: undefined });
    updateUrl(store.view, false);
  },
  zoomTo(zoom) {
    store.set({ zoom });
  },
  showAt,
  showAtTime(timeMs) {
    // Any question will do, because each answer about a time has the height of that time.
    const question = { type: 'perpDexs', atTime: timeMs };
    void ask(store.view.key, question).then(
      ({ height }) => showAt(height),
      ({ message }: Refusal) => actions.showNotice(message),
    );
  },
  sortBy(sort) {
    store.set({ sort });
    updateUrl(store.view, false);
  },
  setWhatIf,
  showNotice(notice) {
    clearTimeout(noticeTimer);
    store.set({ notice });
    noticeTimer = setTimeout(() => store.set({ notice: '' }), NOTICE_MS);
  },
  sortBoard(boardSort) {
    store.set({ boardSort });
    updateUrl(store.view, false);
  },
  changeBook(book) {
    saveBook(book);
    store.set({ book });
    alarms.look();
  },
  openAccount,
  setPace: (paceMs) => feed.setPace(paceMs),
  askToNotify() {
    void notifier.request().then((notices) => store.set({ notices }));
  },
};

function openAccount(user: string): void {
  actions.select(user, undefined);
}

function openBoard(): void {
  feed.showAt(undefined);
  store.set({ isBoard: true });
  updateUrl(store.view, true);
}

/**
 * Shows a height, or the present. A move between past and present adds a history entry. A move
 * within the past replaces the entry.
 */
function showAt(at: number | undefined): void {
  const isStep = (at === undefined) !== (store.view.at === undefined);
  leaveFor(at);
  updateUrl(store.view, isStep);
}

/**
 * Shows a height, or the present. "What if" closes in the past, because it starts from present
 * marks.
 */
function leaveFor(at: number | undefined): void {
  if (at !== undefined) setWhatIf(undefined);
  feed.showAt(at);
}

function setWhatIf(whatIf: Move | undefined): void {
  store.set({ whatIf });
  termsWatch.setWanted(whatIf !== undefined);
}

/**
 * Selects an account and a dex. Another account closes "What if". Another dex resets a "What if"
 * about one coin.
 */
function select(user: string, dex: string | undefined): void {
  const { view } = store;
  if (user !== view.user) setWhatIf(undefined);
  else if (dex !== view.dex && view.whatIf?.coin !== undefined) setWhatIf(NO_MOVE);
  store.set({ zoom: undefined });
  feed.select(user, dex);
}

const NO_STATES: States = [];
/** The last verdict, and the states that it is about. */
let judged: { readonly states: States; readonly verdict: Verdict } | undefined;

/**
 * Returns the verdict about the account. It is computed once for each answer, because there may be
 * hundreds of positions.
 */
function judge(view: View): Verdict {
  const states = view.account.answer?.value ?? NO_STATES;
  if (judged?.states !== states) judged = { states, verdict: judgeAccount(states) };
  return judged.verdict;
}

/**
 * Returns the level of the account or the board that is shown. Nothing is called safe before there
 * is an answer.
 */
function levelShown(view: View): LevelOrUnknown {
  if (view.isBoard) return shown.worstOf(usersOnBoard(view.book));
  return view.account.answer === undefined ? 'unknown' : judge(view).level;
}

function draw(view: View): void {
  const verdict = judge(view);
  boardFeed.follow(view);
  archiveSeriesWatch.follow(view);
  render(<App view={view} verdict={verdict} actions={actions} board={board} />, root);
  drawTab(view, levelShown(view));
}

/**
 * Reports an invalid link, so that the page does not look as if the link had led to the account
 * that is shown.
 */
function reportBadUser(user: string): void {
  actions.showNotice(`Invalid link: ${quoteInput(user)} is not an address.`);
  updateUrl(store.view, false);
}

/**
 * Returns the account to show first: the account of the link, an example of the link, the last
 * account that was shown, or a stored example.
 */
function chooseUser(linked: string, examples: readonly string[]): string {
  return linked || examples[0] || store.view.recent[0] || store.view.examples[0] || '';
}

function take({ key, examples }: KeyLink): void {
  store.set({ key, examples, user: chooseUser('', examples) });
}

if (keyLink !== undefined) take(keyLink);
else store.set({ ...asked, user: chooseUser(asked.user, []) });
store.set({ notices: readNoticeState() });
feed.start();
dexWatch.look();
updateUrl(store.view, false);
if (badUser !== undefined) reportBadUser(badUser);

// Back, Forward, and a link that is pasted into an open page change only the fragment.
addEventListener('hashchange', () => {
  const { user, dex, at, ...rest } = readUrlState(location.hash);
  const bad = findBadUser(location.hash);
  const again = takeKey();
  if (again !== undefined) {
    leaveFor(undefined);
    take(again);
    actions.useKey(again.key);
    updateUrl(store.view, false);
    return;
  }
  store.set(rest);
  leaveFor(at);
  if (user !== '' && (user !== store.view.user || dex !== store.view.dex)) {
    select(user, dex);
  }
  if (bad !== undefined) reportBadUser(bad);
});
onKeyForgotten(() => {
  actions.forgetKey(false);
  store.set({ recent: loadRecent(), examples: loadExamples() });
});
copyFiguresOnClick(actions.showNotice);
onBookChanged(() => store.set({ book: loadBook() }));
setInterval(() => {
  const { view } = store;
  if (document.hidden) tickHidden(view);
  rows.tick(view);
  alarms.look();
  store.drawPaced();
}, TICK_MS);

/** A hidden page draws only its tab. Rows are normally read when they are drawn, so they are read here. */
function tickHidden(view: View): void {
  boardFeed.readAll();
  boardFeed.follow(view);
  if (view.isBoard) for (const user of usersOnBoard(view.book)) board.take(user);
  drawTab(view, levelShown(view));
}
