/**
 * Receives the answers of the panels and puts them into the store. The page first asks each
 * question over HTTP, which reports errors in full. After that the answers are pushed, or polled
 * where push is not available.
 */

import { pickDex, totalsOf } from '../figures/all-dexes.ts';
import type { Answer, Question, States } from '../figures/answers.ts';
import { HistoryKeeper } from '../history/history-keeper.ts';
import { Push, type PushEvents, type PushMessage } from '../service/push.ts';
import { readPush } from '../service/pushed-answer.ts';
import { ask, type Refusal } from '../service/service.ts';
import { Watch } from '../service/watch.ts';
import { pushedWithinMs } from '../view/selectors.ts';
import { forgetAddresses, saveKey, savePace, saveRecent } from '../view/storage.ts';
import type { Store } from '../view/store.ts';
import { HealthCheck } from './health-check.ts';
import type { LiveData, PanelName } from './live-data.ts';

/**
 * The polling intervals. Each question has a weight of 20, so polling spends 720 of a key's budget
 * in a minute. The account is polled often enough for a chart without gaps.
 */
const POLL_MS: Readonly<Record<PanelName, number>> = {
  account: 3_000,
  stakes: 10_000,
  auction: 6_000,
};
const PANEL_NAMES = Object.keys(POLL_MS) as PanelName[];
/**
 * An unchanged value is not pushed. The chart extends its line at this interval, up to the time for
 * which every push must have arrived.
 */
const FLAT_LINE_MS = 5_000;

export class Feed {
  readonly #store: Store;
  readonly #live: LiveData;
  readonly #push: Push;
  readonly #health: HealthCheck;
  readonly #watches: Readonly<Record<PanelName, Watch>>;
  readonly #keeper: HistoryKeeper;

  constructor(store: Store, live: LiveData) {
    this.#store = store;
    this.#live = live;
    this.#keeper = new HistoryKeeper(() => live.redrawHistory());
    const events: PushEvents = {
      opened: () => this.#pushOpened(),
      received: (message) => this.#received(message),
      closed: (isRefused) => this.#pushClosed(isRefused),
    };
    this.#push = new Push(events, () => `?interval=${store.view.paceMs}&compress=true`);
    this.#health = this.#createHealthCheck();
    this.#watches = {
      account: this.#createWatch('account'),
      stakes: this.#createWatch('stakes'),
      auction: this.#createWatch('auction'),
    };
  }

  start(): void {
    this.#health.checkNow();
    this.setKey(this.#store.view.key);
  }

  /**
   * Switches to a key, and clears the answers that belong to the last key. An empty string means no
   * key.
   */
  setKey(key: string): void {
    saveKey(key);
    this.#store.set({ key });
    this.#live.setKeyUnproven();
    this.#push.connect(key);
    this.#askAboutAuction();
    const { user, dex } = this.#store.view;
    this.select(user, dex);
  }

  /** Sets how often new figures are pushed and drawn. */
  setPace(paceMs: number): void {
    savePace(paceMs);
    this.#store.set({ paceMs });
    this.#push.connect(this.#store.view.key);
    this.#pushClosed(false);
  }

  /** Shows an account on one dex, or on all dexes if `dex` is undefined. */
  select(user: string, dex: string | undefined): void {
    const { view } = this.#store;
    const { question, refusal } = view.account;
    const isAsked = user === view.user && question !== undefined && refusal === undefined;
    this.#store.set({ user, dex });
    this.#live.setHistory(this.#keeper.open(user, dex));
    if (isAsked) this.#noteFirstValue();
    else {
      this.#live.clearPanel('account');
      this.#live.clearPanel('stakes');
      this.#askAbout(user);
    }
  }

  /** Shows the page as it was at a height, without push; undefined shows the present again. */
  showAt(at: number | undefined): void {
    const { view } = this.#store;
    if (at === view.at) return;
    this.#unsubscribe('auction');
    this.#store.set({ at, zoom: undefined });
    // Figures of the present stay, greyed out, until the figures of the height arrive. Past figures
    // are cleared, because they must not look live.
    if (at === undefined) this.#live.clearPanels();
    this.#keeper.history.interrupt();
    this.#askAboutAuction();
    this.#askAbout(view.user);
  }

  /** Returns the question about the height that is shown. */
  #pin(question: Question): Question {
    const { at } = this.#store.view;
    return at === undefined ? question : { ...question, atHeight: at };
  }

  #askAboutAuction(): void {
    const hasKey = this.#store.view.key !== '';
    const question = hasKey ? this.#pin({ type: 'perpDeployAuctionStatus' }) : undefined;
    this.#live.setQuestion('auction', question);
    this.#watches.auction.change(question);
  }

  /** Asks for all dexes in one question, so that all figures have the same height. */
  #askAbout(user: string): void {
    const isAsked = user !== '' && this.#store.view.key !== '';
    const types = { account: 'allDexsClearinghouseState', stakes: 'delegations' } as const;
    for (const name of ['account', 'stakes'] as const) {
      this.#unsubscribe(name);
      const question = isAsked ? this.#pin({ type: types[name], user }) : undefined;
      if (isAsked) this.#live.setQuestion(name, question);
      else this.#live.clearPanel(name);
      this.#watches[name].change(question);
    }
  }

  /** Forgets which accounts were shown. */
  forgetAddresses(): void {
    forgetAddresses();
    this.select('', undefined);
    this.#store.set({ recent: [], examples: [] });
    this.#live.setHistory(this.#keeper.forget());
  }

  #createHealthCheck(): HealthCheck {
    return new HealthCheck({
      live: this.#live,
      probe: () => this.#push.probe(),
      ledgerKnown: (ledger) => this.#live.setHistory(this.#keeper.setLedger(ledger)),
      fresh: (timeMs) => this.#extendLine(timeMs),
      stale: () => this.#keeper.history.interrupt(),
      wentOffline: (wasOffline) => {
        // A silent connection may continue later without a reconnect, so the chart gets its gap
        // here.
        this.#keeper.history.interrupt();
        if (!wasOffline) this.#push.pause();
      },
      cameBack: () => this.#reconnect(),
    });
  }

  #createWatch(name: PanelName): Watch {
    return new Watch({
      pollMs: POLL_MS[name],
      ask: (question) => ask(this.#store.view.key, question),
      answered: (answer, question) => {
        this.#noteValue(name, answer);
        this.#show(name, answer);
        this.#subscribe(name);
        if (name === 'account') this.#noteRecent(question);
      },
      refused: (refusal) => this.#refuse(name, refusal),
    });
  }

  #noteRecent({ user = '' }: Question): void {
    if (this.#store.view.recent[0] !== user) this.#store.set({ recent: saveRecent(user) });
  }

  #show(name: PanelName, answer: Answer): void {
    // An answer proves that the service is back. The page then does not wait for the next health
    // check.
    if (this.#store.view.link.state === 'offline') this.#health.checkNow();
    this.#live.setAnswer(name, this.#watches[name].question, answer);
  }

  /** Adds a point to the chart, if the answer has a value for it. */
  #noteValue(name: PanelName, answer: Answer): void {
    if (name !== 'account' || this.#store.view.at !== undefined) return;
    if (this.#live.isOlder(name, answer)) return;
    const { time, value } = answer as Answer<States>;
    const shown = pickDex(value, this.#store.view.dex);
    if (shown.length === 0) return;
    const { history } = this.#keeper;
    const { isPushed } = this.#watches.account;
    // The values between two polled answers are unknown.
    if (!isPushed) history.interrupt();
    history.add(time, totalsOf(shown).accountValue);
    if (!isPushed) history.interrupt();
    this.#live.redrawHistory();
  }

  /** The chart of another dex starts with a value from the answer that is already shown. */
  #noteFirstValue(): void {
    const { answer } = this.#store.view.account;
    const { last } = this.#keeper.history;
    if (answer === undefined || (last !== undefined && answer.time <= last.time)) return;
    this.#noteValue('account', answer);
  }

  #refuse(name: PanelName, refusal: Refusal): void {
    const { link } = this.#store.view;
    if (refusal.status === 401) this.#refuseKey(refusal);
    else this.#live.setRefusal(name, refusal);
    if (refusal.status === 0 && link.state === 'live') this.#health.checkNow();
  }

  #refuseKey({ message }: Refusal): void {
    this.#push.connect('');
    for (const name of PANEL_NAMES) this.#watches[name].change(undefined);
    this.#live.setKeyProblem(message);
  }

  #pushOpened(): void {
    this.#live.setPush(true);
    for (const name of PANEL_NAMES) {
      // A question that has no answer yet may be invalid. It is not subscribed to, because HTTP
      // reports errors in full.
      if (this.#store.view[name].answer !== undefined) this.#subscribe(name);
    }
  }

  #subscribe(name: PanelName): void {
    const { question, isPushed } = this.#watches[name];
    if (question === undefined || question.atHeight !== undefined || isPushed) return;
    if (this.#store.view.link.isPush) this.#push.send('subscribe', question);
  }

  #pushClosed(isRefused: boolean): void {
    this.#live.setPush(false);
    // Push may be back before the next question is asked, so the chart gets its gap here.
    this.#keeper.history.interrupt();
    for (const name of PANEL_NAMES) this.#watches[name].setPushed(false);
    if (this.#store.view.link.state === 'offline') this.#push.pause();
    if (isRefused) this.#watches.auction.kick();
  }

  #unsubscribe(name: PanelName): void {
    const { question } = this.#watches[name];
    if (question !== undefined && question.atHeight === undefined)
      this.#push.send('unsubscribe', question);
  }

  #received(message: PushMessage): void {
    this.#health.notePush();
    if (message.channel === 'subscriptionResponse') {
      const { method, subscription } = message.data as { method: string; subscription: Question };
      const name = this.#findPanel(subscription);
      if (name !== undefined) this.#watches[name].setPushed(method === 'subscribe');
      return;
    }
    const pushed = readPush(message);
    if (pushed === undefined) return;
    const name = this.#findPanel(pushed.question);
    if (name === undefined) return;
    if (this.#live.noteFresh(pushed.answer)) this.#health.noteFreshPush();
    this.#noteValue(name, pushed.answer);
    this.#show(name, pushed.answer);
  }

  #findPanel(question: Question): PanelName | undefined {
    const wanted = nameOf(question);
    return PANEL_NAMES.find((name) => {
      const watched = this.#watches[name].question;
      return watched !== undefined && nameOf(watched) === wanted;
    });
  }

  #reconnect(): void {
    this.#push.kick();
    for (const name of PANEL_NAMES) this.#watches[name].kick();
  }

  #extendLine(timeMs: number): void {
    const { last } = this.#keeper.history;
    if (!this.#watches.account.isPushed || last === undefined) return;
    const knownMs = timeMs - pushedWithinMs(this.#store.view);
    if (knownMs - last.time < FLAT_LINE_MS) return;
    this.#keeper.history.add(knownMs, last.value);
    this.#live.redrawHistory();
  }
}

/** Returns a name that identifies a question, whatever the order of its fields is. */
function nameOf({ type, user = '', dex = '', atHeight = 0 }: Question): string {
  return `${type} ${user.toLowerCase()} ${dex} ${atHeight}`;
}
