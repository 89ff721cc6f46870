/**
 * Brings answers into the view. Each question is first asked over HTTP, which reports errors in full;
 * after that it is pushed, or polled where push is unavailable.
 */

import { pickDex, totalsOf } from '../figures/all-dexes.ts';
import type { Answer, Question, States } from '../figures/answers.ts';
import { HistoryKeeper } from '../history/history-keeper.ts';
import { Push, type PushEvents, type PushMessage } from '../service/push.ts';
import { ask, askHealth, type Refusal } from '../service/service.ts';
import { Watch } from '../service/watch.ts';
import { forgetAddresses, saveKey, savePace, saveRecent } from '../view/storage.ts';
import type { Store } from '../view/store.ts';
import { EMPTY_PANEL, type LinkState, pushedWithinMs, type View } from '../view/view.ts';

/**
 * Each of the questions weighs 20: polling spends 720 a minute of a key's budget. The account is asked
 * for often enough for its chart to have no gaps.
 */
const POLL_MS = { account: 3_000, stakes: 10_000, auction: 6_000 } as const;
const HEALTH_MS = 1_000;
const HEALTH_MS_MAX = 8_000;
/** While pushed states tell how fresh the ledger is, /health is asked for the rest. */
const HEALTH_MS_PUSHED = 5_000;
/** How long a pushed state replaces a health check. */
const PUSH_FRESH_MS = 1_500;
/** How soon push must show a sign of life where HTTP shows none. */
const PROBE_MS = 1_000;
/** An unchanged value is not pushed, but its chart must still advance, up to what has surely arrived. */
const FLAT_LINE_MS = 5_000;

type PanelName = keyof typeof POLL_MS;
const PANEL_NAMES = Object.keys(POLL_MS) as PanelName[];

export class Feed {
  readonly #store: Store;
  readonly #push: Push;
  readonly #watches: Readonly<Record<PanelName, Watch>>;
  readonly #keeper = new HistoryKeeper(() => this.#drawHistory());
  #healthTimer: ReturnType<typeof setTimeout> | undefined;
  #healthFailures = 0;
  #isCheckingHealth = false;
  /** When push was last heard, by performance.now(). */
  #pushHeardMs = Number.NEGATIVE_INFINITY;
  /** When a pushed state was last newer than all that was known. */
  #freshPushMs = Number.NEGATIVE_INFINITY;
  /** When /health last answered. */
  #healthMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store) {
    this.#store = store;
    const events: PushEvents = {
      opened: () => this.#pushOpened(),
      received: (message) => this.#received(message),
      closed: (isRefused) => this.#pushClosed(isRefused),
    };
    this.#push = new Push(events, () => `?interval=${store.view.paceMs}&compress=true`);
    this.#watches = {
      account: this.#createWatch('account'),
      stakes: this.#createWatch('stakes'),
      auction: this.#createWatch('auction'),
    };
  }

  start(): void {
    void this.#checkHealth();
    this.setKey(this.#store.view.key);
  }

  /** Switches to a key and clears what the last one brought; an empty string means no key. */
  setKey(key: string): void {
    saveKey(key);
    this.#store.set({ key, keyProblem: '', ...blankPanels() });
    this.#push.connect(key);
    this.#askAboutAuction();
    const { user, dex } = this.#store.view;
    this.select(user, dex);
  }

  /** Shows new figures as often as this, and has them pushed so. */
  setPace(paceMs: number): void {
    savePace(paceMs);
    this.#store.set({ paceMs });
    this.#push.connect(this.#store.view.key);
    this.#pushClosed(false);
  }

  /** Shows an account: on one dex, or on all if it is undefined. */
  select(user: string, dex: string | undefined): void {
    const { view } = this.#store;
    const { question, refusal } = view.account;
    const isAsked = user === view.user && question !== undefined && refusal === undefined;
    this.#store.set({ user, dex, history: this.#keeper.open(user, dex) });
    if (isAsked) this.#noteFirstValue();
    else this.#askAbout(user);
  }

  /** Shows the page as it was at a height, without push; undefined shows the present again. */
  showAt(at: number | undefined): void {
    const { view } = this.#store;
    if (at === view.at) return;
    this.#unsubscribe('auction');
    // Figures stay, greyed out, until those of the height have come; but none of the past are live.
    const { account, stakes, auction } = at === undefined ? blankPanels() : view;
    this.#store.set({ at, account, stakes, auction, zoom: undefined });
    this.#keeper.history.interrupt();
    this.#askAboutAuction();
    this.#askAbout(view.user, { account, stakes });
  }

  /** About the moment that is shown. */
  #pin(question: Question): Question {
    const { at } = this.#store.view;
    return at === undefined ? question : { ...question, atHeight: at };
  }

  #askAboutAuction(): void {
    const { key, auction } = this.#store.view;
    const question = key === '' ? undefined : this.#pin({ type: 'perpDeployAuctionStatus' });
    this.#store.set({ auction: { ...auction, question, refusal: undefined } });
    this.#watches.auction.change(question);
  }

  /** One answer has all dexes, so that all figures are of one height. */
  #askAbout(user: string, shown: Pick<View, 'account' | 'stakes'> = blankPanels()): void {
    const isAsked = user !== '' && this.#store.view.key !== '';
    const question = this.#pin({ type: 'allDexsClearinghouseState', user });
    const account = { ...shown.account, question, refusal: undefined };
    const ofStakes = this.#pin({ type: 'delegations', user });
    const stakes = { ...shown.stakes, question: ofStakes, refusal: undefined };
    this.#unsubscribe('account');
    this.#unsubscribe('stakes');
    this.#store.set(isAsked ? { account, stakes } : { account: EMPTY_PANEL, stakes: EMPTY_PANEL });
    this.#watches.account.change(isAsked ? account.question : undefined);
    this.#watches.stakes.change(isAsked ? stakes.question : undefined);
  }

  /** Forgets whose accounts were shown. */
  forgetAddresses(): void {
    forgetAddresses();
    this.select('', undefined);
    this.#store.set({ recent: [], examples: [], history: this.#keeper.forget() });
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

  /** Workers may be a block apart: an answer older than the one shown is dropped. */
  #isOlder(name: PanelName, answer: Answer): boolean {
    const { freshness, ...view } = this.#store.view;
    const shown = view[name].answer;
    if (view.at !== undefined) return false;
    if (shown === undefined || freshness === undefined) return false;
    // What is ahead of /health belongs to a ledger that was replaced.
    if (answer.height !== undefined && shown.height !== undefined) {
      return answer.height < shown.height && freshness.height >= shown.height;
    }
    return answer.time < shown.time && freshness.time >= shown.time;
  }

  #show(name: PanelName, answer: Answer): void {
    // An answer proves that the service is back, before the next health check is due.
    if (this.#store.view.link.state === 'offline') this.#checkHealthNow();
    if (this.#isOlder(name, answer)) return;
    const { question } = this.#watches[name];
    const change = { [name]: { question, answer, refusal: undefined } };
    const { at, [name]: shown } = this.#store.view;
    // The first answer is shown at once, and so is what somebody moves to in the past.
    if (shown.answer === undefined || at !== undefined) this.#store.set(change);
    else this.#store.setThrottled(change);
  }

  /** Adds a point to the chart, if the answer has one. */
  #noteValue(name: PanelName, answer: Answer): void {
    if (name !== 'account' || this.#store.view.at !== undefined) return;
    if (this.#isOlder(name, answer)) return;
    const { time, value } = answer as Answer<States>;
    const shown = pickDex(value, this.#store.view.dex);
    if (shown.length === 0) return;
    const { history } = this.#keeper;
    const { isPushed } = this.#watches.account;
    // Between polled answers the value is unknown.
    if (!isPushed) history.interrupt();
    history.add(time, totalsOf(shown).accountValue);
    if (!isPushed) history.interrupt();
    this.#drawHistory();
  }

  /** The chart of another dex begins with what is known already. */
  #noteFirstValue(): void {
    const { answer } = this.#store.view.account;
    const { last } = this.#keeper.history;
    if (answer === undefined || (last !== undefined && answer.time <= last.time)) return;
    this.#noteValue('account', answer);
  }

  #drawHistory(): void {
    this.#store.setThrottled({ historyVersion: this.#store.view.historyVersion + 1 });
  }

  #refuse(name: PanelName, refusal: Refusal): void {
    const { view } = this.#store;
    const isPast = view.at !== undefined;
    if (refusal.status === 401) this.#refuseKey(refusal);
    // Figures of another height than the one that is refused would be taken for its own.
    else this.#store.set({ [name]: { ...view[name], refusal, ...(isPast && NO_ANSWER) } });
    if (refusal.status === 0 && view.link.state === 'live') this.#checkHealthNow();
  }

  /** The figures stay, greyed out, while the page asks for another key. */
  #refuseKey({ message }: Refusal): void {
    this.#push.connect('');
    for (const name of PANEL_NAMES) this.#watches[name].change(undefined);
    this.#store.set({ keyProblem: message });
  }

  #pushOpened(): void {
    this.#setPush(true);
    for (const name of PANEL_NAMES) {
      // A question without an answer yet may be invalid: HTTP reports why.
      if (this.#store.view[name].answer !== undefined) this.#subscribe(name);
    }
  }

  #subscribe(name: PanelName): void {
    const { question, isPushed } = this.#watches[name];
    if (
      question === undefined ||
      question.atHeight !== undefined ||
      isPushed ||
      !this.#store.view.link.isPush
    )
      return;
    this.#push.send('subscribe', question);
  }

  #pushClosed(isRefused: boolean): void {
    this.#setPush(false);
    // Push may be back before anything is asked for again.
    this.#keeper.history.interrupt();
    for (const name of PANEL_NAMES) this.#watches[name].setPushed(false);
    if (this.#store.view.link.state === 'offline') this.#push.pause();
    if (isRefused) this.#watches.auction.kick();
  }

  #setPush(isPush: boolean): void {
    this.#store.set({ link: { ...this.#store.view.link, isPush } });
  }

  #unsubscribe(name: PanelName): void {
    const { question } = this.#watches[name];
    if (question !== undefined && question.atHeight === undefined)
      this.#push.send('unsubscribe', question);
  }

  #received({ channel, data }: PushMessage): void {
    this.#pushHeardMs = performance.now();
    if (channel === 'subscriptionResponse') {
      const { method, subscription } = data as { method: string; subscription: Question };
      const name = this.#findPanel(subscription);
      if (name !== undefined) this.#watches[name].setPushed(method === 'subscribe');
      return;
    }
    const pushed = readPush(channel, data);
    if (pushed === undefined) return;
    const name = this.#findPanel(pushed.question);
    if (name === undefined) return;
    this.#noteFresh(pushed.answer);
    this.#noteValue(name, pushed.answer);
    this.#show(name, pushed.answer);
  }

  /** A pushed state is as good a sign of freshness as /health, by whose clock its age is told. */
  #noteFresh({ height, time }: Answer): void {
    const { freshness } = this.#store.view;
    if (freshness === undefined || height === undefined || height <= freshness.height) return;
    const heardMs = performance.now();
    const serviceMs = freshness.time + freshness.lagMs + heardMs - freshness.heardMs;
    const lagMs = Math.max(0, serviceMs - time);
    this.#freshPushMs = heardMs;
    this.#store.setThrottled({ freshness: { ...freshness, height, time, lagMs, heardMs } });
  }

  #findPanel(question: Question): PanelName | undefined {
    const wanted = nameOf(question);
    return PANEL_NAMES.find((name) => {
      const watched = this.#watches[name].question;
      return watched !== undefined && nameOf(watched) === wanted;
    });
  }

  #checkHealthNow(): void {
    if (this.#isCheckingHealth) return;
    clearTimeout(this.#healthTimer);
    void this.#checkHealth();
  }

  async #checkHealth(): Promise<void> {
    const { link } = this.#store.view;
    this.#isCheckingHealth = true;
    try {
      const health = await askHealth();
      const isLive = health.status === 'ok';
      this.#healthFailures = 0;
      this.#healthMs = performance.now();
      this.#store.setThrottled({ freshness: { ...health, heardMs: this.#healthMs } });
      this.#setLinkState(isLive ? 'live' : 'stopped', isLive ? '' : health.message);
      if (health.ledger !== '') {
        this.#store.setThrottled({ history: this.#keeper.setLedger(health.ledger) });
      }
      if (!isLive) this.#keeper.history.interrupt();
      if (link.state === 'offline') this.#reconnect();
      else if (isLive) this.#extendLine(health.time);
    } catch (error) {
      this.#healthFailures++;
      const { message } = error as Refusal;
      if (!(await this.#isPushAlive())) this.#goOffline(message);
    }
    this.#isCheckingHealth = false;
    const delayMs = Math.min(HEALTH_MS_MAX, HEALTH_MS * 2 ** Math.min(this.#healthFailures, 5));
    this.#scheduleHealth(delayMs);
  }

  #scheduleHealth(delayMs: number): void {
    this.#healthTimer = setTimeout(() => {
      if (this.#isPushFresh()) this.#scheduleHealth(HEALTH_MS);
      else void this.#checkHealth();
    }, delayMs);
  }

  /** Whether pushed states make the next health check needless; what is followed may fail beside them. */
  #isPushFresh(): boolean {
    const { link, freshness } = this.#store.view;
    const nowMs = performance.now();
    if (link.state !== 'live' || freshness?.follow !== undefined) return false;
    return nowMs - this.#freshPushMs < PUSH_FRESH_MS && nowMs - this.#healthMs < HEALTH_MS_PUSHED;
  }

  /** HTTP may be slow or blocked while push still comes. */
  async #isPushAlive(): Promise<boolean> {
    if (!this.#store.view.link.isPush) return false;
    const askedMs = performance.now();
    this.#push.probe();
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    return this.#store.view.link.isPush && this.#pushHeardMs >= askedMs;
  }

  /** Shown at once if it is another one. */
  #setLinkState(state: LinkState, message: string): void {
    const { link } = this.#store.view;
    const change = { link: { ...link, state, message } };
    if (state === link.state) this.#store.setThrottled(change);
    else this.#store.set(change);
  }

  #goOffline(message: string): void {
    const { link } = this.#store.view;
    this.#setLinkState('offline', message);
    // A connection that was silent meanwhile may go on as if nothing had happened.
    this.#keeper.history.interrupt();
    if (link.state !== 'offline') this.#push.pause();
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
    this.#drawHistory();
  }
}

const NO_ANSWER = { answer: undefined };

function blankPanels() {
  return { account: EMPTY_PANEL, stakes: EMPTY_PANEL, auction: EMPTY_PANEL };
}

/** A canonical name for a question, independent of the order of its fields. */
function nameOf({ type, user = '', dex = '', atHeight = 0 }: Question): string {
  return `${type} ${user.toLowerCase()} ${dex} ${atHeight}`;
}

interface Pushed extends Question {
  readonly height?: number;
  readonly time?: number;
  readonly accountTime?: number;
  readonly [field: string]: unknown;
}

/** Where a push does not hold its answer in a field named after the channel. */
const ANSWER_FIELDS: Readonly<Record<string, string>> = {
  allDexsClearinghouseState: 'clearinghouseStates',
};

function readPush(type: string, data: unknown) {
  const field = ANSWER_FIELDS[type] ?? type;
  if (typeof data !== 'object' || data === null || !(field in data)) return undefined;
  const { user, dex, height, accountTime, [field]: value } = data as Pushed;
  const { time = accountTime ?? 0 } = data as Pushed;
  return {
    question: { type, user: user ?? '', dex: dex ?? '' },
    answer: { value, height, time, accountTime },
  };
}
