/**
 * A realistic perpetuals exchange, generated from a seed as blocks of NDJSON. The same options give
 * the same bytes on every machine.
 *
 * The simulator applies every block to its state, with the same parser and fold that replicas use.
 * So it knows the accounts of its users, and never yields a block that does not apply.
 */

import { parseBlock } from '../events/event.ts';
import { applyBlock } from '../state/fold.ts';
import { createState, type State, type StateView } from '../state/state.ts';
import { Arrivals } from './arrivals.ts';
import { type AuctionTerms, runAuctions } from './auctions.ts';
import { FundingRounds } from './funding.ts';
import { Genesis } from './genesis.ts';
import { Liquidations } from './liquidations.ts';
import { dexOfCoin, LISTINGS } from './listings.ts';
import { changeTiers } from './margin-tiers.ts';
import { moveMoney } from './money.ts';
import { moveMarks } from './prices.ts';
import { Random } from './random.ts';
import { Roster } from './roster.ts';
import { BlockDraft, type Scene } from './scene.ts';
import { changeStakes } from './staking.ts';
import { trade } from './trading.ts';

export interface SimulatorOptions {
  readonly seed: number | string;
  readonly accounts: number;
  readonly startTimeMs?: number;
  /** Simulated milliseconds between blocks. */
  readonly intervalMs?: number;
  /** If given, every account starts with exactly this number of positions on the first dex. */
  readonly positionsPerAccount?: number;
  /** If false, no auction ever starts. */
  readonly auctions?: boolean;
  readonly auctionDurationSeconds?: number;
  /** The state of a ledger to continue. From then on, only the simulator may change this state. */
  readonly resume?: State;
}

export interface Simulator {
  /** The state after the last block. */
  readonly state: StateView;
  /** True if all markets and initial users exist. From then on, users trade. */
  readonly isSetUp: boolean;
  /**
   * Returns the line of the next block, without a newline. `timeMs` replaces the simulated time.
   */
  next(timeMs?: number): string;
}

const START_TIME_MS = 1_758_556_800_000;
const INTERVAL_MS = 10_000;
const AUCTION_DURATION_SECONDS = 3600;

const FIRST_DEX_MARKETS = LISTINGS.filter(({ coin }) => dexOfCoin(coin) === '').length;

function checkOptions(options: SimulatorOptions): void {
  const { accounts, positionsPerAccount = 0, auctionDurationSeconds = 1 } = options;
  checkWhole('accounts', accounts, { from: 1 });
  checkWhole('positionsPerAccount', positionsPerAccount, { from: 0, to: FIRST_DEX_MARKETS });
  checkWhole('auctionDurationSeconds', auctionDurationSeconds, { from: 1 });
}

function checkWhole(
  name: string,
  value: number,
  { from, to = Number.MAX_SAFE_INTEGER }: { from: number; to?: number },
): void {
  if (Number.isSafeInteger(value) && value >= from && value <= to) return;
  throw new RangeError(`${name}: got ${value}, expected a whole number from ${from} to ${to}`);
}

export function createSimulator(options: SimulatorOptions): Simulator {
  checkOptions(options);
  return new SimulatedExchange(options);
}

class SimulatedExchange implements Simulator {
  readonly #state: State;
  readonly #options: SimulatorOptions;
  readonly #random: Random;
  readonly #roster: Roster;
  readonly #genesis: Genesis;
  readonly #arrivals: Arrivals;
  readonly #auctionTerms: AuctionTerms;
  readonly #funding = new FundingRounds();
  readonly #liquidations = new Liquidations();

  constructor(options: SimulatorOptions) {
    const { seed, resume, auctionDurationSeconds = AUCTION_DURATION_SECONDS } = options;
    this.#options = options;
    this.#state = resume ?? createState();
    // A resumed ledger must not repeat the events of its start.
    this.#random = new Random(`${seed}/from/${this.#state.height}`);
    this.#roster = new Roster({
      seed: String(seed),
      userCount: options.accounts,
      startsWithAllUsers: options.positionsPerAccount !== undefined,
    });
    this.#genesis = new Genesis(options.positionsPerAccount);
    this.#arrivals = new Arrivals(this.#roster.initialUserCount);
    this.#auctionTerms = { seed: String(seed), durationSeconds: auctionDurationSeconds };
  }

  get state(): StateView {
    return this.#state;
  }

  get isSetUp(): boolean {
    return this.#genesis.isOver;
  }

  next(timeMs?: number): string {
    const scene = this.#setUp(timeMs) ?? this.#trade(timeMs);
    const line = scene.draft.formatLine(this.#state.height + 1, scene.time);
    applyBlock(this.#state, parseBlock(line));
    return line;
  }

  /** The ledger's time never goes back, even if the clock does. */
  #createScene(timeMs: number): Scene {
    return {
      state: this.#state,
      time: Math.max(timeMs, this.#state.time),
      random: this.#random,
      roster: this.#roster,
      draft: new BlockDraft(),
    };
  }

  /**
   * Returns the scene of the next block of the set-up, which takes no simulated time; returns
   * undefined when the set-up is complete.
   */
  #setUp(timeMs: number | undefined): Scene | undefined {
    const { startTimeMs = START_TIME_MS } = this.#options;
    const timeNow = this.#state.height === 0 ? startTimeMs : this.#state.time;
    const scene = this.#createScene(timeMs ?? timeNow);
    this.#genesis.fill(scene);
    return scene.draft.isEmpty ? undefined : scene;
  }

  /** The order matters: funding is paid before anyone trades, and marks move last. */
  #trade(timeMs: number | undefined): Scene {
    const { intervalMs = INTERVAL_MS, auctions = true } = this.#options;
    const scene = this.#createScene(timeMs ?? this.#state.time + intervalMs);
    if (auctions) runAuctions(scene, this.#auctionTerms);
    this.#funding.step(scene);
    this.#liquidations.step(scene);
    this.#arrivals.step(scene);
    moveMoney(scene);
    changeStakes(scene);
    trade(scene);
    changeTiers(scene);
    moveMarks(scene);
    return scene;
  }
}
