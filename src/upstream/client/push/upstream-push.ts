/**
 * The push connection to the upstream. If the connection is lost, is silent for too long or
 * receives a malformed message, a new connection is opened with the same subscriptions.
 */

import type { RawData } from 'ws';
import { isJsonObject } from '../../../events/fields.ts';
import { describeValue } from '../../../events/refusal.ts';
import { type Clock, SYSTEM_CLOCK } from '../limits/clock.ts';
import { ConnectionPace } from '../limits/connection-pace.ts';
import { WINDOW_MS, WindowUsage } from '../limits/window-usage.ts';
import type { UpstreamLog } from '../upstream.ts';
import type { UpstreamAddress } from '../upstream-address.ts';
import type { LeftOut } from './left-out-subscriptions.ts';
import { type PushError, readPushError } from './push-error.ts';
import { type PushMessage, parsePushMessage } from './push-message.ts';
import { openPushSocket, type PushSocket } from './push-socket.ts';
import { type PushLimits, PushSubscriptions } from './push-subscriptions.ts';
import type { UpstreamSubscription } from './upstream-subscription.ts';

const HANDSHAKE_MS_MAX = 10_000;
const CHECK_MS = 200;
/**
 * If a check is this late, it is skipped: the process was busy, and has not read the messages that
 * have arrived in the meantime.
 */
const LATE_MS_MAX = 400;
/** The time for which a connection may be quiet before a ping is sent. */
const QUIET_MS_MAX = 500;
/**
 * The maximum time for an answer to a ping. If the upstream was slower before, the maximum is
 * PONG_FACTOR times the slow time instead. After this time, the connection counts as lost, because
 * a silent connection may miss changes. This applies only to an upstream that answers pings.
 */
const PONG_MS_MAX = 600;
const PONG_FACTOR = 4;
/** Each later answer reduces the remembered time of a slow answer by this factor. */
const PONG_DECAY = 0.9;
/**
 * The maximum silence of an upstream that has never answered a ping, and the interval at which
 * pings are sent to it.
 */
const SILENT_MS_MAX = 30_000;
const UNANSWERED_PING_MS = 10_000;
/**
 * The maximum time for which a connection that answers pings may deliver no data of its
 * subscriptions.
 */
const IDLE_MS_MAX = 60_000;
/**
 * A connection that lasted this long was stable: the next connection may be opened soon after it.
 */
const STABLE_MS = 60_000;
/**
 * The close codes of an upstream that stops or restarts. Other codes may be caused by a sent
 * subscription.
 */
const NORMAL_CODES: readonly number[] = [1000, 1001, 1012, 1013];
/**
 * The number of messages of the limit that are reserved for pings. The checks of a quiet connection
 * need fewer in a minute.
 */
export const PING_RESERVE = 150;
/**
 * The maximum number of errors in a minute that answer none of our messages. Normally, each error
 * answers one message.
 */
const STRAY_ERRORS_MAX = 10;

/** The channels that carry no data of the exchange. */
const CONTROL_CHANNELS: readonly string[] = ['pong', 'subscriptionResponse', 'error'];

export interface PushHandler {
  /** The connection is open. Events may have been missed before. */
  opened(): void;
  message(channel: string, data: unknown): void;
  /** The upstream has confirmed the subscription, and delivers its data from now on. */
  acknowledged(subscription: UpstreamSubscription): void;
  /** The upstream does not accept this subscription. It is left out, and tried again later. */
  refused(subscription: UpstreamSubscription, reason: string): void;
  lost(reason: string): void;
}

export interface PushOptions {
  readonly address: UpstreamAddress;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits: PushLimits;
  readonly handler: PushHandler;
  readonly log: UpstreamLog;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly openSocket?: typeof openPushSocket;
}

const DEFAULTS = {
  headers: {},
  clock: SYSTEM_CLOCK,
  random: Math.random,
  openSocket: openPushSocket,
} as const;

export class UpstreamPush {
  readonly #options: Required<PushOptions>;
  readonly #subscriptions: PushSubscriptions;
  readonly #pace: ConnectionPace;
  /**
   * The messages that were sent in the last minute. The upstream counts the messages of all
   * connections together.
   */
  readonly #messages = new WindowUsage();
  #socket: PushSocket | undefined;
  #isClosed = false;
  /** The reason why we are closing the connection; undefined if we are not closing it. */
  #reason: string | undefined;
  /** The reason for the last lost connection that was logged. */
  #loggedReason: string | undefined;
  #openedMs: number | undefined;
  #receivedMs = 0;
  #dataMs = 0;
  #checkAtMs = 0;
  #pingedMs = Number.NEGATIVE_INFINITY;
  /** The slowest recent time of an answer to a ping; 0 before the first answer. */
  #pongMs = 0;
  #pausedUntilMs = 0;
  /** The number of errors in the current minute of the connection. */
  #errors = 0;
  #errorsSinceMs = 0;
  #cancelTimer: (() => void) | undefined;
  #cancelSending: (() => void) | undefined;

  constructor(options: PushOptions) {
    this.#options = { ...DEFAULTS, ...options };
    const { random, limits, clock } = this.#options;
    this.#subscriptions = new PushSubscriptions(limits);
    this.#pace = new ConnectionPace(clock, random);
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#openedMs !== undefined;
  }

  /**
   * Sets the wanted subscriptions, the most important first. Subscriptions over a limit are not
   * sent.
   */
  subscribe(wanted: readonly UpstreamSubscription[]): void {
    this.#subscriptions.setWanted(wanted);
    this.#sendChanges();
  }

  /** The subscriptions that the upstream does not accept, with the reasons. */
  get leftOut(): readonly LeftOut[] {
    return this.#subscriptions.listLeftOut(this.#options.clock.nowMs());
  }

  /** Closes the current connection, if there is one, and opens a new connection. */
  reconnect(reason: string): void {
    this.#reason ??= reason;
    this.#socket?.terminate();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#cancelSending?.();
    this.#socket?.terminate();
  }

  #connect(): void {
    const { address, headers, clock, openSocket } = this.#options;
    this.#pace.noteOpening();
    const socket = openSocket(address.pushUrl, headers);
    this.#socket = socket;
    this.#reason = undefined;
    this.#setTimer(HANDSHAKE_MS_MAX, () =>
      this.reconnect(`no handshake in ${HANDSHAKE_MS_MAX} ms`),
    );
    socket.on('open', () => this.#open());
    socket.on('message', (data, isBinary) => this.#receiveSafely(data, isBinary));
    // Pings of the WebSocket protocol also show that the upstream is alive.
    socket.on('ping', () => {
      this.#receivedMs = clock.nowMs();
    });
    // After an error, ws would wait up to 30 s for the upstream to close the connection.
    socket.on('error', (error) => this.reconnect(error.message));
    socket.on('close', (code, reason) => this.#lose(code, String(reason)));
  }

  /**
   * Sets the timer of the current state: the handshake, the checks, or the next attempt to connect.
   */
  #setTimer(delayMs: number, callback: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.clock.setTimer(delayMs, callback);
  }

  #open(): void {
    const nowMs = this.#options.clock.nowMs();
    this.#openedMs = nowMs;
    this.#receivedMs = nowMs;
    this.#dataMs = nowMs;
    this.#errors = 0;
    this.#errorsSinceMs = nowMs;
    this.#subscriptions.noteOpened(nowMs);
    this.#scheduleCheck(nowMs);
    this.#options.handler.opened();
    this.#sendChanges();
  }

  #lose(code: number, words: string): void {
    const { clock, address, handler, log } = this.#options;
    const nowMs = clock.nowMs();
    const reason = address.show(this.#reason ?? `closed with ${code} ${words}`);
    const livedMs = this.#openedMs === undefined ? 0 : nowMs - this.#openedMs;
    const isOpened = this.#openedMs !== undefined;
    const isOfUpstream = isOpened && this.#reason === undefined;
    this.#openedMs = undefined;
    this.#socket = undefined;
    this.#cancelSending?.();
    if (this.#isClosed) return;
    if (livedMs >= STABLE_MS) this.#pace.reset();
    const isBlamed = isOfUpstream && !NORMAL_CODES.includes(code);
    const leftOut = isBlamed ? this.#findClosing(reason, nowMs) : undefined;
    if (!isBlamed) this.#subscriptions.noteLost();
    const delayMs = this.#pace.nextDelayMs(isBlamed);
    // An upstream without a push connection fails in the same way each time, so this failure is
    // logged once.
    if (isOpened || reason !== this.#loggedReason) {
      log.warn(`push of ${address.origin} lost: ${reason}; next attempt in ${delayMs} ms`);
    }
    this.#loggedReason = reason;
    this.#setTimer(delayMs, () => this.#connect());
    handler.lost(reason);
    for (const { subscription, reason: why } of leftOut ?? []) {
      log.warn(`push of ${address.origin} leaves out ${JSON.stringify(subscription)}: ${why}`);
      handler.refused(subscription, why);
    }
  }

  /**
   * Returns the subscriptions to leave out if the cause of the closing is found; otherwise starts
   * or continues a search for it. Returns undefined if no subscription is the cause.
   */
  #findClosing(reason: string, nowMs: number): readonly LeftOut[] | undefined {
    const mayHalve = this.#pace.maySearch;
    const leftOut = this.#subscriptions.noteClosed({ reason, mayHalve }, nowMs);
    if (leftOut !== undefined) this.#pace.reset();
    return leftOut;
  }

  #scheduleCheck(nowMs: number): void {
    this.#checkAtMs = nowMs + CHECK_MS;
    this.#setTimer(CHECK_MS, () => this.#check());
  }

  #check(): void {
    const nowMs = this.#options.clock.nowMs();
    const isLate = nowMs - this.#checkAtMs > LATE_MS_MAX;
    this.#scheduleCheck(nowMs);
    if (isLate) return;
    const isIdle = this.#subscriptions.count > 0 && nowMs - this.#dataMs > IDLE_MS_MAX;
    const silentMsMax = this.#findSilence(nowMs);
    if (silentMsMax !== undefined) this.reconnect(`silent for ${silentMsMax} ms`);
    else if (isIdle) this.reconnect(`nothing pushed for ${IDLE_MS_MAX} ms`);
    else if (this.#pongMs === 0 || nowMs - this.#receivedMs > QUIET_MS_MAX) this.#ping(nowMs);
    if (this.#subscriptions.retryLeftOut(nowMs)) this.#sendChanges();
  }

  /** Returns the duration of the silence if it is too long; otherwise returns undefined. */
  #findSilence(nowMs: number): number | undefined {
    const quietMs = nowMs - this.#receivedMs;
    const isPinged = this.#pingedMs > this.#receivedMs;
    const pongMsMax = Math.max(PONG_MS_MAX, PONG_FACTOR * this.#pongMs);
    const isSilent =
      this.#pongMs > 0 && pongMsMax < SILENT_MS_MAX
        ? isPinged && nowMs - this.#pingedMs > pongMsMax
        : quietMs > SILENT_MS_MAX;
    return isSilent ? quietMs : undefined;
  }

  /**
   * Sends one ping while the connection is quiet. An upstream that has not answered receives pings
   * repeatedly.
   */
  #ping(nowMs: number): void {
    const isAnswerDue = this.#pongMs === 0 || this.#pingedMs > this.#receivedMs;
    if (isAnswerDue && nowMs - this.#pingedMs < UNANSWERED_PING_MS) return;
    this.#pingedMs = nowMs;
    this.#send('{"method":"ping"}', nowMs);
  }

  #notePong(): void {
    const tookMs = this.#receivedMs - this.#pingedMs;
    this.#pongMs = Math.max(tookMs, this.#pongMs * PONG_DECAY, 1);
  }

  /**
   * Receives a message, and catches exceptions: an exception in a listener would end the process,
   * and no message may cause this.
   */
  #receiveSafely(data: RawData, isBinary: boolean): void {
    try {
      this.#receive(data, isBinary);
    } catch (error) {
      this.reconnect(`a message that could not be taken: ${(error as Error).message}`);
    }
  }

  #receive(data: RawData, isBinary: boolean): void {
    // Messages of a connection that is being closed are ignored.
    if (this.#reason !== undefined) return;
    this.#receivedMs = this.#options.clock.nowMs();
    const message = parsePushMessage(data, isBinary);
    if (typeof message === 'string') this.reconnect(message);
    else if (CONTROL_CHANNELS.includes(message.channel)) this.#control(message);
    else if (this.#options.address.containsKey(bytesOf(data))) {
      this.reconnect('a message that repeats the key of the address');
    } else {
      this.#dataMs = this.#receivedMs;
      this.#options.handler.message(message.channel, message.data);
    }
  }

  #control({ channel, data }: PushMessage): void {
    if (channel === 'pong') this.#notePong();
    if (channel === 'error') {
      this.#refuse(typeof data === 'string' ? data : describeValue(data), this.#receivedMs);
    }
    if (channel !== 'subscriptionResponse' || !isJsonObject(data)) return;
    if (data['method'] !== 'unsubscribe') this.#acknowledge(data['subscription']);
  }

  #refuse(text: string, nowMs: number): void {
    const { log, address } = this.#options;
    const reason = address.show(text);
    if (this.#isStray(nowMs)) {
      this.reconnect(`more errors than messages were sent, the last one: ${reason}`);
      return;
    }
    const error = readPushError(text);
    if (error.kind !== 'subscribed') {
      const line = `push of ${address.origin} refuses: ${reason}`;
      if (log.warnOnce === undefined) log.warn(line);
      else log.warnOnce(line);
    }
    this.#takeError(error, reason, nowMs);
  }

  #takeError(error: PushError, reason: string, nowMs: number): void {
    switch (error.kind) {
      case 'messages':
        this.#pausedUntilMs = nowMs + WINDOW_MS;
        this.#subscriptions.resendPending();
        this.#sendChanges();
        break;
      case 'subscribed':
        this.#acknowledge(error.subscription);
        break;
      case 'refused': {
        const refused = this.#subscriptions.refuse(error, reason, nowMs);
        if (refused !== undefined) this.#options.handler.refused(refused, reason);
        break;
      }
      case 'other':
    }
  }

  #acknowledge(subscription: unknown): void {
    const confirmed = this.#subscriptions.acknowledge(subscription);
    if (confirmed !== undefined) this.#options.handler.acknowledged(confirmed);
  }

  /** Counts an error; returns true if there are more errors than our messages can explain. */
  #isStray(nowMs: number): boolean {
    if (nowMs - this.#errorsSinceMs >= WINDOW_MS) {
      this.#errors = 0;
      this.#errorsSinceMs = nowMs;
    }
    this.#errors++;
    return this.#errors > this.#messages.used(nowMs) + STRAY_ERRORS_MAX;
  }

  /** Sends subscribe and unsubscribe requests, as fast as the limit of messages allows. */
  #sendChanges(): void {
    this.#cancelSending?.();
    this.#cancelSending = undefined;
    if (!this.isOpen) return;
    const nowMs = this.#options.clock.nowMs();
    const changes = this.#subscriptions.listChanges(nowMs);
    const count = nowMs < this.#pausedUntilMs ? 0 : this.#countFree(nowMs);
    for (const change of changes.slice(0, count)) {
      this.#send(JSON.stringify(change), nowMs);
      this.#subscriptions.noteSent(change, nowMs);
    }
    const waitMs = changes.length > count ? this.#roomWaitMs(nowMs) : undefined;
    const searchMs = this.#subscriptions.waitMs(nowMs);
    if (waitMs === undefined && searchMs === undefined) return;
    const nextMs = Math.min(
      waitMs ?? Number.POSITIVE_INFINITY,
      searchMs ?? Number.POSITIVE_INFINITY,
    );
    const delayMs = Math.max(1, Math.ceil(nextMs));
    this.#cancelSending = this.#options.clock.setTimer(delayMs, () => this.#sendChanges());
  }

  /** Returns the time until more messages may be sent, in milliseconds. */
  #roomWaitMs(nowMs: number): number {
    return Math.max(this.#messages.nextReleaseMs ?? nowMs, this.#pausedUntilMs) - nowMs;
  }

  #countFree(nowMs: number): number {
    const { messagesMax } = this.#options.limits;
    return Math.max(0, messagesMax - PING_RESERVE - this.#messages.used(nowMs));
  }

  #send(text: string, nowMs: number): void {
    this.#messages.start(1);
    this.#messages.end(1, 1, 'arrived', nowMs);
    // If sending fails, the connection is also closed, and the closing is reported.
    this.#socket?.send(text, () => undefined);
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
