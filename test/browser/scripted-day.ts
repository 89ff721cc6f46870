/**
 * A day of an account within minutes: the page has a clock that the test moves, and a service that is
 * scripted, in the page itself, since a message from outside takes longer than a second of such a day.
 */

import type { Page } from 'playwright-core';

/** How the page is cut off: from everything, from everything without being told so, or from push alone. */
export type OutageKind = 'gone' | 'hung' | 'unpushed';

export interface Outage {
  readonly kind: OutageKind;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface DayScript {
  readonly user: string;
  readonly startMs: number;
  readonly blockMs: number;
  /** What the account is worth at each block; pushed where it is another one. */
  readonly values: readonly string[];
  readonly outages: readonly Outage[];
}

/** A state that the page was told, by push or as an answer. */
export type Told = readonly [timeMs: number, value: string];

interface Day {
  advance(ms: number): Promise<void>;
  readonly told: readonly Told[];
}

export async function stageDay(page: Page, script: DayScript): Promise<void> {
  await page.addInitScript(runInPage, script);
}

/** Lets so much of the day pass. */
export function passTime(page: Page, ms: number): Promise<void> {
  return page.evaluate((spanMs) => (globalThis as unknown as { day: Day }).day.advance(spanMs), ms);
}

export function readTold(page: Page): Promise<readonly Told[]> {
  return page.evaluate(() => [...(globalThis as unknown as { day: Day }).day.told]);
}

/** Evaluated in the page, before its own script: nothing from outside of it is known there. */
function runInPage({ user, startMs, blockMs, values, outages }: DayScript): void {
  interface Timer {
    atMs: number;
    readonly everyMs: number | undefined;
    readonly run: () => void;
  }
  let nowMs = startMs;
  let timerCount = 0;
  const timers = new Map<number, Timer>();
  const addTimer = (run: () => void, delayMs = 0, isRepeated = false): number => {
    timerCount += 1;
    const everyMs = isRepeated ? Math.max(1, delayMs) : undefined;
    timers.set(timerCount, { atMs: nowMs + Math.max(0, delayMs), everyMs, run });
    return timerCount;
  };
  const clearTimer = (id: number | undefined): void => void timers.delete(id ?? 0);

  /** Lets promises and the database of the browser go on. */
  const channel = new MessageChannel();
  let resume: () => void = () => undefined;
  channel.port1.onmessage = () => resume();
  const letGo = () =>
    new Promise<void>((resolve) => {
      resume = resolve;
      channel.port2.postMessage('');
    });

  const findNext = (untilMs: number): number | undefined => {
    let found: number | undefined;
    let foundMs = untilMs;
    for (const [id, { atMs }] of timers) {
      if (atMs < foundMs || (found === undefined && atMs <= foundMs)) [found, foundMs] = [id, atMs];
    }
    return found;
  };

  const advance = async (ms: number): Promise<void> => {
    const untilMs = nowMs + ms;
    for (let id = findNext(untilMs); id !== undefined; id = findNext(untilMs)) {
      const timer = timers.get(id) as Timer;
      nowMs = Math.max(nowMs, timer.atMs);
      if (timer.everyMs === undefined) timers.delete(id);
      else timer.atMs += timer.everyMs;
      timer.run();
      await letGo();
    }
    nowMs = untilMs;
  };

  const told: Told[] = [];
  const outageNow = () => outages.find(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs)?.kind;
  const blockNow = () => Math.min(values.length, 1 + Math.floor((nowMs - startMs) / blockMs)) - 1;
  const timeOf = (block: number) => startMs + block * blockMs;

  const stateAt = (block: number) => {
    const accountValue = values[block];
    const summary = {
      ...{ accountValue, totalRawUsd: accountValue, totalNtlPos: '0.0', totalMarginUsed: '0.0' },
    };
    told.push([timeOf(block), accountValue]);
    const state = {
      ...{ marginSummary: summary, crossMarginSummary: summary, withdrawable: accountValue },
      ...{ crossMaintenanceMarginUsed: '0.0', assetPositions: [], time: timeOf(block) },
    };
    return [['', state]];
  };

  const ANSWERS: Readonly<Record<string, unknown>> = {
    delegations: [],
    perpDeployAuctionStatus: null,
    perpDexs: [null],
  };

  const answer = (path: string, body: string): unknown => {
    const block = blockNow();
    if (path === '/health') {
      const time = timeOf(block);
      return {
        ...{ status: 'ok', message: '', ledger: 'scripted', height: block + 1, head: block + 1 },
        ...{ time, lagMs: nowMs - time, maxAgeMs: 0 },
      };
    }
    const { type } = JSON.parse(body) as { type: string };
    return type === 'allDexsClearinghouseState' ? stateAt(block) : ANSWERS[type];
  };

  const scriptedFetch = async (path: string, { body, signal }: RequestInit): Promise<unknown> => {
    if (outageNow() === 'gone') throw new TypeError('Failed to fetch');
    if (outageNow() === 'hung') {
      await new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    }
    const block = blockNow();
    const text = JSON.stringify(answer(path, String(body)));
    const headers = new Headers({
      ...{ 'Ledger-Height': `${block + 1}`, 'Ledger-Time': `${timeOf(block)}` },
    });
    return { ok: true, status: 200, headers, text: async () => text };
  };

  interface Subscribing {
    readonly method: string;
    readonly subscription?: { readonly type: string };
  }
  const sockets = new Set<ScriptedSocket>();

  class ScriptedSocket {
    static readonly OPEN = 1;
    readyState = 0;
    onopen: () => void = () => undefined;
    onmessage: (message: { data: string }) => void = () => undefined;
    onclose: (event: { code: number }) => void = () => undefined;
    #isSubscribed = false;
    #pushedBlock = -1;

    constructor() {
      sockets.add(this);
      addTimer(() => this.#open(), 20);
    }

    #open(): void {
      const kind = outageNow();
      if (this.readyState !== 0 || kind === 'hung') return;
      if (kind !== undefined) {
        this.lose();
        return;
      }
      this.readyState = 1;
      this.onopen();
    }

    send(text: string): void {
      const { method, subscription } = JSON.parse(text) as Subscribing;
      if (outageNow() !== undefined) return;
      if (method === 'ping') this.#tell('pong');
      if (subscription === undefined) return;
      this.#tell('subscriptionResponse', { method, subscription });
      if (subscription.type === 'allDexsClearinghouseState') {
        this.#isSubscribed = method === 'subscribe';
        this.push();
      }
    }

    push(): void {
      const block = blockNow();
      if (this.readyState !== 1 || !this.#isSubscribed || outageNow() !== undefined) return;
      if (values[block] === values[this.#pushedBlock]) return;
      this.#pushedBlock = block;
      const data = { user, clearinghouseStates: stateAt(block) };
      const place = { height: block + 1, time: timeOf(block) };
      this.#tell('allDexsClearinghouseState', { ...data, ...place });
    }

    #tell(channelName: string, data?: object): void {
      const text = JSON.stringify({ channel: channelName, data });
      addTimer(() => {
        if (this.readyState === 1) this.onmessage({ data: text });
      });
    }

    lose(): void {
      this.close();
      this.onclose({ code: 1006 });
    }

    close(): void {
      this.readyState = 3;
      sockets.delete(this);
    }
  }

  const passBlock = (): void => {
    const kind = outageNow();
    for (const socket of [...sockets]) {
      if (kind === 'gone' || kind === 'unpushed') socket.lose();
      else socket.push();
    }
  };

  Date.now = () => nowMs;
  performance.now = () => nowMs - startMs;
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    addTimer(() => controller.abort(new DOMException('too late', 'TimeoutError')), ms);
    return controller.signal;
  };
  Object.assign(globalThis, {
    setTimeout: addTimer,
    setInterval: (run: () => void, delayMs: number) => addTimer(run, delayMs, true),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    requestAnimationFrame: (run: (ms: number) => void) =>
      addTimer(() => run(performance.now()), 16),
    cancelAnimationFrame: clearTimer,
    fetch: scriptedFetch,
    WebSocket: ScriptedSocket,
    day: { advance, told } satisfies Day,
  });
  addTimer(passBlock, blockMs, true);
}
