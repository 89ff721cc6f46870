/**
 * Receives the accounts of the board on a separate push connection, so that hundreds of accounts do
 * not delay the account that is shown.
 */

import type { Answer, Delegation, Question, States } from '../figures/answers.ts';
import { PacedSubscriber } from '../service/paced-subscriber.ts';
import { Push, type PushEvents, type PushMessage } from '../service/push.ts';
import { readPushError } from '../service/push-error.ts';
import { type PushedAnswer, readPush } from '../service/pushed-answer.ts';
import { ask } from '../service/service.ts';
import { type AddressBook, usersOnBoard } from '../view/address-book.ts';
import { isOlder, ledgerAgeMs } from '../view/selectors.ts';
import type { Store, View } from '../view/store.ts';
import { BoardPoll } from './board-poll.ts';
import type { BoardRows } from './board-rows.ts';

const ACCOUNT = 'allDexsClearinghouseState';
const STAKES = 'delegations';
type Stakes = readonly Delegation[];
/** Rows are drawn once a second, so a shorter push interval would have no effect. */
const TERMS = '?interval=1000';
/** Matches the start of a pushed account's message, which names the user. */
const PUSHED_ACCOUNT = new RegExp(`^{"channel":"${ACCOUNT}","data":{"user":"(0x[0-9a-f]{40})"`);

interface BoardFeedOptions {
  readonly store: Store;
  readonly rows: BoardRows;
  /** Called when a message about an account has arrived that has not been read. */
  arrived(user: string): void;
  /** Called when any message has arrived. */
  received(): void;
}

export class BoardFeed {
  readonly #options: BoardFeedOptions;
  readonly #push: Push;
  readonly #subscriber: PacedSubscriber;
  readonly #poll: BoardPoll;
  #key = '';
  #book: AddressBook | undefined;
  #isOffline = false;
  /**
   * True after the person has opened the board. It then stays subscribed, because a new
   * subscription would be charged again.
   */
  #isOpened = false;
  /**
   * The newest unread message about each account. The next message replaces it if the row has not
   * been drawn.
   */
  readonly #unread = new Map<string, string>();

  constructor(options: BoardFeedOptions) {
    this.#options = options;
    const events: PushEvents = {
      opened: () => this.#pushOpened(),
      tookText: (text) => this.#tookText(text),
      received: (message) => this.#received(message),
      closed: () => this.#pushClosed(),
    };
    this.#push = new Push(events, () => TERMS);
    this.#subscriber = new PacedSubscriber({
      nowMs: () => performance.now(),
      send: (method, question) => this.#push.send(method, question),
      acknowledged: (question) => this.#acknowledged(question),
      refused: ({ user = '' }, problem) => options.rows.change(user, { problem }),
    });
    this.#poll = new BoardPoll({
      users: () => options.rows.users,
      ask: (question) => ask(this.#key, question),
      answered: (user, answer) => this.#noteAccount(user, answer, false),
      answeredStakes: (user, stakes) => this.#noteStakes(user, stakes),
      failed: (user, problem) => options.rows.change(user, { problem }),
    });
  }

  /** True if accounts are still missing because the key's budget is spent. */
  get isShort(): boolean {
    return this.#subscriber.isShort;
  }

  /**
   * Call this when the view has changed. The feed follows the view's key, address book and
   * connection.
   */
  follow(view: View): void {
    const { book, isBoard } = view;
    if (book !== this.#book || (isBoard && !this.#isOpened)) {
      this.#book = book;
      this.#isOpened ||= isBoard;
      this.#watch(listWatched(book, this.#isOpened));
    }
    this.#followKey(view);
    this.#followLink(view);
  }

  #watch(users: readonly string[]): void {
    this.#options.rows.setUsers(users);
    this.#subscriber.setWanted([
      ...users.map((user) => ({ type: ACCOUNT, user })),
      ...users.map((user) => ({ type: STAKES, user })),
    ]);
  }

  /** Connects only if there is something to watch. */
  #followKey({ key, keyProblem }: View): void {
    const isNeeded = keyProblem === '' && this.#options.rows.users.length > 0;
    const wanted = isNeeded ? key : '';
    if (wanted === this.#key) return;
    this.#key = wanted;
    this.#push.connect(wanted);
    this.#loseAll();
    // If the key is refused, the figures stay, greyed out.
    if (key === '') this.#options.rows.clear();
    if (wanted === '') this.#poll.stop();
    else this.#poll.start();
  }

  #followLink({ link }: View): void {
    const isOffline = link.state === 'offline';
    if (isOffline === this.#isOffline) return;
    this.#isOffline = isOffline;
    if (isOffline) this.#push.pause();
    else this.#push.kick();
  }

  #pushOpened(): void {
    this.#poll.stop();
    this.#subscriber.opened();
  }

  #pushClosed(): void {
    this.#loseAll();
    if (this.#isOffline) this.#push.pause();
    if (this.#key !== '') this.#poll.start();
  }

  /** Marks the rows as not pushed. From now on their answers get older. */
  #loseAll(): void {
    this.#subscriber.closed();
    this.readAll();
    const { rows, store } = this.#options;
    const freshMs = performance.now() - ledgerAgeMs(store.view);
    for (const user of rows.users) {
      if (rows.get(user)?.isPushed) rows.change(user, { isPushed: false, freshMs });
    }
  }

  #acknowledged({ type, user = '' }: Question): void {
    if (type === ACCOUNT) this.#options.rows.change(user, { isPushed: true, problem: '' });
  }

  #tookText(text: string): boolean {
    const [, user] = PUSHED_ACCOUNT.exec(text) ?? [];
    if (user === undefined) return false;
    this.#unread.set(user, text);
    this.#options.arrived(user);
    this.#options.received();
    return true;
  }

  /** Reads the newest message about an account, if it has not been read. */
  read(user: string): void {
    const text = this.#unread.get(user);
    if (text === undefined) return;
    this.#unread.delete(user);
    this.#readPushed(JSON.parse(text) as PushMessage);
  }

  readAll(): void {
    for (const user of [...this.#unread.keys()]) this.read(user);
  }

  #received(message: PushMessage): void {
    const { channel, data } = message;
    const error = readPushError(message);
    if (channel === 'subscriptionResponse') {
      const { method, subscription } = data as { method: string; subscription: Question };
      if (method === 'subscribe') this.#subscriber.acknowledge(subscription);
    } else if (error !== undefined) this.#subscriber.refuse(error);
    else this.#readPushed(message);
    this.#options.received();
  }

  #readPushed(message: PushMessage): void {
    const pushed = readPush(message);
    if (pushed !== undefined) this.#notePushed(pushed);
  }

  #notePushed({ question, answer }: PushedAnswer): void {
    const user = question.user?.toLowerCase() ?? '';
    if (question.type === ACCOUNT) this.#noteAccount(user, answer as Answer<States>, true);
    else if (question.type === STAKES) this.#noteStakes(user, answer as Answer<Stakes>);
  }

  #noteStakes(user: string, stakes: Answer<Stakes>): void {
    this.#options.rows.change(user, { stakes });
  }

  #noteAccount(user: string, answer: Answer<States>, isPushed: boolean): void {
    const { rows, store } = this.#options;
    if (isOlder(store.view, answer, rows.get(user)?.account)) return;
    const freshMs = performance.now() - ledgerAgeMs(store.view);
    rows.noteAccount(user, answer, { isPushed, freshMs });
  }
}

/**
 * Returns the accounts to watch: always the accounts with limits, and also the accounts of the
 * board after it was opened.
 */
function listWatched(book: AddressBook, isOpened: boolean): string[] {
  const limited = [...book]
    .filter(([, { thresholds }]) => Object.keys(thresholds).length > 0)
    .map(([user]) => user);
  return isOpened ? [...new Set([...usersOnBoard(book), ...limited])] : limited;
}
