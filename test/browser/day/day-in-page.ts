/**
 * What runs in the page before its own script, to give it a clock that the test moves and a service that is
 * scripted. It is evaluated there as text (scripted-day.ts), so it may import nothing.
 */

/**
 * How the page is cut off: from everything, from everything without being told so, from push alone, from
 * HTTP alone, or from HTTP without being told so; or the ledger has stopped.
 */
export type OutageKind = 'gone' | 'hung' | 'unpushed' | 'refused' | 'unanswered' | 'stopped';

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
  /** From which age on the ledger counts as stale; 0 for never. */
  readonly maxAgeMs: number;
}

/** A state that the page was reported, by push or as an answer. */
export type Told = readonly [timeMs: number, value: string];

/** What the test moves and reads in the page. */
export interface Day {
  advance(ms: number): Promise<void>;
  readonly reported: readonly Told[];
}

interface Timer {
  atMs: number;
  /** Undefined for one that runs once. */
  readonly everyMs: number | undefined;
  readonly run: () => void;
}

class MovedClock {
  nowMs: number;
  readonly #startMs: number;
  readonly #timers = new Map<number, Timer>();
  #count = 0;
  readonly #channel = new MessageChannel();
  #resume: () => void = () => undefined;

  constructor(startMs: number) {
    this.nowMs = startMs;
    this.#startMs = startMs;
    this.#channel.port1.onmessage = () => this.#resume();
  }

  get sinceStartMs(): number {
    return this.nowMs - this.#startMs;
  }

  readonly set = (run: () => void, delayMs = 0): number => this.#add(run, delayMs, undefined);

  readonly repeat = (run: () => void, everyMs: number): number => this.#add(run, everyMs, everyMs);

  readonly clear = (id: number | undefined): void => void this.#timers.delete(id ?? 0);

  readonly advance = async (ms: number): Promise<void> => {
    const untilMs = this.nowMs + ms;
    for (let id = this.#next(untilMs); id !== undefined; id = this.#next(untilMs)) {
      this.#run(id);
      await this.#letOthersRun();
    }
    this.nowMs = untilMs;
  };

  #add(run: () => void, delayMs: number, everyMs: number | undefined): number {
    this.#count += 1;
    this.#timers.set(this.#count, { atMs: this.nowMs + Math.max(0, delayMs), everyMs, run });
    return this.#count;
  }

  /** Of those that are due at the same time, the one that was set first. */
  #next(untilMs: number): number | undefined {
    let found: number | undefined;
    let foundMs = untilMs;
    for (const [id, { atMs }] of this.#timers) {
      if (atMs < foundMs || (found === undefined && atMs === foundMs))
        [found, foundMs] = [id, atMs];
    }
    return found;
  }

  #run(id: number): void {
    const timer = this.#timers.get(id);
    if (timer === undefined) return;
    this.nowMs = Math.max(this.nowMs, timer.atMs);
    if (timer.everyMs === undefined) this.#timers.delete(id);
    else timer.atMs += timer.everyMs;
    timer.run();
  }

  /** Promises, and the database of the browser. */
  #letOthersRun(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#channel.port2.postMessage('');
    });
  }
}

/** Answers that do not change. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  delegations: [],
  perpDeployAuctionStatus: null,
  perpDexs: [null],
};

class ScriptedService {
  readonly reported: Told[] = [];
  readonly #script: DayScript;
  readonly #clock: MovedClock;

  constructor(script: DayScript, clock: MovedClock) {
    this.#script = script;
    this.#clock = clock;
  }

  get #outage(): Outage | undefined {
    const { nowMs } = this.#clock;
    return this.#script.outages.find(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs);
  }

  get outage(): OutageKind | undefined {
    return this.#outage?.kind;
  }

  /** Whether nothing comes through to sockets. */
  get isSilent(): boolean {
    const { outage } = this;
    return outage === 'gone' || outage === 'hung' || outage === 'unpushed';
  }

  get block(): number {
    const { values, blockMs, startMs } = this.#script;
    const outage = this.#outage;
    const lastMs = outage?.kind === 'stopped' ? outage.fromMs : this.#clock.nowMs;
    return Math.min(values.length - 1, Math.floor((lastMs - startMs) / blockMs));
  }

  valueAt(block: number): string | undefined {
    return this.#script.values[block];
  }

  timeOf(block: number): number {
    return this.#script.startMs + block * this.#script.blockMs;
  }

  /** What is pushed of the account. */
  pushOf(block: number): object {
    const { user } = this.#script;
    const place = { height: block + 1, time: this.timeOf(block) };
    return { user, clearinghouseStates: this.#statesAt(block), ...place };
  }

  /** To be called when the page hears of the account. */
  note(block: number): void {
    this.reported.push([this.timeOf(block), this.#script.values[block]]);
  }

  #statesAt(block: number): unknown {
    const accountValue = this.#script.values[block];
    const time = this.timeOf(block);
    const summary = {
      ...{ accountValue, totalRawUsd: accountValue, totalNtlPos: '0.0', totalMarginUsed: '0.0' },
    };
    const state = {
      ...{ marginSummary: summary, crossMarginSummary: summary, withdrawable: accountValue },
      ...{ crossMaintenanceMarginUsed: '0.0', assetPositions: [], time },
    };
    return [['', state]];
  }

  #healthAt(block: number): object {
    const { maxAgeMs } = this.#script;
    const time = this.timeOf(block);
    const lagMs = this.#clock.nowMs - time;
    const isStale = maxAgeMs > 0 && lagMs > maxAgeMs;
    return {
      ...(isStale ? { status: 'stale', message: 'it is too old' } : { status: 'ok', message: '' }),
      ...{ ledger: 'scripted', height: block + 1, head: block + 1, time, lagMs, maxAgeMs },
    };
  }

  #answer(path: string, body: string, block: number): unknown {
    if (path === '/health') return this.#healthAt(block);
    const { type } = JSON.parse(body) as { type: string };
    if (type !== 'allDexsClearinghouseState') return ANSWERS[type];
    this.note(block);
    return this.#statesAt(block);
  }

  readonly fetch = async (path: string, { body, signal }: RequestInit): Promise<unknown> => {
    const { outage } = this;
    if (outage === 'gone' || outage === 'refused') throw new TypeError('Failed to fetch');
    if (outage === 'hung' || outage === 'unanswered') await untilAborted(signal);
    const { block } = this;
    const text = JSON.stringify(this.#answer(path, String(body), block));
    const headers = new Headers({
      ...{ 'Ledger-Height': `${block + 1}`, 'Ledger-Time': `${this.timeOf(block)}` },
    });
    return { ok: true, status: 200, headers, text: async () => text };
  };
}

function untilAborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
}

interface SocketMessage {
  readonly method: string;
  readonly subscription?: { readonly type: string };
}

/** A class of sockets to the service, and a function that is to be called at every block. */
function createSockets(service: ScriptedService, clock: MovedClock) {
  const opened = new Set<ScriptedSocket>();

  class ScriptedSocket {
    static readonly OPEN = 1;
    readyState = 0;
    onopen: () => void = () => undefined;
    onmessage: (message: { data: string }) => void = () => undefined;
    onclose: (event: { code: number }) => void = () => undefined;
    #isSubscribed = false;
    #pushed: string | undefined;

    constructor() {
      opened.add(this);
      clock.set(() => this.#open(), 20);
    }

    #open(): void {
      if (this.readyState !== 0 || service.outage === 'hung') return;
      if (service.isSilent) {
        this.lose();
        return;
      }
      this.readyState = 1;
      this.onopen();
    }

    send(text: string): void {
      const { method, subscription } = JSON.parse(text) as SocketMessage;
      if (service.isSilent) return;
      if (method === 'ping') clock.set(() => this.#send('pong'));
      if (subscription === undefined) return;
      clock.set(() => this.#send('subscriptionResponse', { method, subscription }));
      if (subscription.type === 'allDexsClearinghouseState') {
        this.#isSubscribed = method === 'subscribe';
        clock.set(() => this.push());
      }
    }

    /** The account, if it is worth something else than before. */
    push(): void {
      const { block, isSilent } = service;
      if (this.readyState !== 1 || !this.#isSubscribed || isSilent) return;
      const value = service.valueAt(block);
      if (value === this.#pushed) return;
      this.#pushed = value;
      service.note(block);
      this.#send('allDexsClearinghouseState', service.pushOf(block));
    }

    #send(channel: string, data?: object): void {
      if (this.readyState === 1) this.onmessage({ data: JSON.stringify({ channel, data }) });
    }

    lose(): void {
      this.close();
      this.onclose({ code: 1006 });
    }

    close(): void {
      this.readyState = 3;
      opened.delete(this);
    }
  }

  const passBlock = (): void => {
    const isCut = service.outage === 'gone' || service.outage === 'unpushed';
    for (const socket of [...opened]) {
      if (isCut) socket.lose();
      else socket.push();
    }
  };
  return { ScriptedSocket, passBlock };
}

function startDay(script: DayScript): void {
  const clock = new MovedClock(script.startMs);
  const service = new ScriptedService(script, clock);
  const { ScriptedSocket, passBlock } = createSockets(service, clock);
  Date.now = () => clock.nowMs;
  performance.now = () => clock.sinceStartMs;
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    clock.set(() => controller.abort(new DOMException('too late', 'TimeoutError')), ms);
    return controller.signal;
  };
  Object.assign(globalThis, {
    ...{ setTimeout: clock.set, clearTimeout: clock.clear },
    ...{ setInterval: clock.repeat, clearInterval: clock.clear },
    requestAnimationFrame: (run: (ms: number) => void) =>
      clock.set(() => run(clock.sinceStartMs), 16),
    cancelAnimationFrame: clock.clear,
    ...{ fetch: service.fetch, WebSocket: ScriptedSocket },
    day: { advance: clock.advance, reported: service.reported } satisfies Day,
  });
  clock.repeat(passBlock, script.blockMs);
}

Object.assign(globalThis, { startDay });
