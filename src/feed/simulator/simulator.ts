/**
 * A believable perpetuals exchange from a seed, as blocks of NDJSON. The same options give the same
 * bytes on every machine.
 *
 * The simulator folds every line that it makes into a state of its own, through the same parser and
 * the same fold as everybody else. So it knows what its users hold, and a block that would not apply
 * cannot leave it.
 */

import { parseBlock } from '../../event.ts';
import { applyBlock, createState, type State, type StateView } from '../../state/state.ts';
import { Arrivals } from './arrivals.ts';
import { type AuctionTerms, runAuctions } from './auctions.ts';
import { FundingRounds } from './funding.ts';
import { PHASES } from './genesis.ts';
import { LiquidationPatrol } from './liquidations.ts';
import { dexOfCoin, LISTINGS } from './listings.ts';
import { changeTiers } from './margin-tiers.ts';
import { moveMarks } from './prices.ts';
import { Random } from './random.ts';
import { Roster } from './roster.ts';
import { BlockDraft, type Scene, type WireEvent } from './scene.ts';
import { changeStakes } from './staking.ts';
import { trade } from './trading.ts';
import { moveMoney } from './treasury.ts';

export interface SimulatorOptions {
  readonly seed: number | string;
  readonly accounts: number;
  readonly startTimeMs?: number;
  /** Simulated milliseconds between blocks. */
  readonly intervalMs?: number;
  /** Where given, every account begins with exactly so many open positions on the first dex. */
  readonly positionsPerAccount?: number;
  /** Where false, the auction never becomes live. */
  readonly auctions?: boolean;
  readonly auctionDurationSeconds?: number;
  /** A ledger to continue; the simulator owns this state from then on. */
  readonly resume?: State;
}

export interface Simulator {
  /** After the last block that was made. */
  readonly state: StateView;
  /** The next block's line, without a newline. A time given takes the place of the simulated one. */
  next(timeMs?: number): string;
}

const START_TIME_MS = 1_758_556_800_000;
const INTERVAL_MS = 10_000;
const AUCTION_DURATION_SECONDS = 3600;

const FIRST_DEX_MARKETS = LISTINGS.filter(({ coin }) => dexOfCoin(coin) === '').length;

function checkOptions({ accounts, positionsPerAccount = 0 }: SimulatorOptions): void {
  if (!Number.isSafeInteger(accounts) || accounts < 1) {
    throw new RangeError(`accounts: got ${accounts}, expected a whole number from 1`);
  }
  const isCount = Number.isSafeInteger(positionsPerAccount) && positionsPerAccount >= 0;
  if (!isCount || positionsPerAccount > FIRST_DEX_MARKETS) {
    const expected = `a whole number from 0 to ${FIRST_DEX_MARKETS}`;
    throw new RangeError(`positionsPerAccount: got ${positionsPerAccount}, expected ${expected}`);
  }
}

export function createSimulator(options: SimulatorOptions): Simulator {
  checkOptions(options);
  return new Exchange(options);
}

class Exchange implements Simulator {
  readonly #state: State;
  readonly #options: SimulatorOptions;
  readonly #random: Random;
  readonly #roster: Roster;
  readonly #arrivals: Arrivals;
  readonly #auctionTerms: AuctionTerms;
  readonly #funding = new FundingRounds();
  readonly #patrol = new LiquidationPatrol();
  /** The phases of the start that are still to come, and the one under way. */
  readonly #phases = [...PHASES];
  #phase: Generator<WireEvent> | undefined;

  constructor(options: SimulatorOptions) {
    const { seed, resume, auctionDurationSeconds = AUCTION_DURATION_SECONDS } = options;
    this.#options = options;
    this.#state = resume ?? createState();
    // A ledger that is continued must not see its first days again.
    this.#random = new Random(`${seed}/from/${this.#state.height}`);
    this.#roster = new Roster({
      seed: String(seed),
      userCount: options.accounts,
      allAreFounders: options.positionsPerAccount !== undefined,
    });
    this.#arrivals = new Arrivals(this.#roster.founderCount);
    this.#auctionTerms = { seed: String(seed), durationSeconds: auctionDurationSeconds };
  }

  get state(): StateView {
    return this.#state;
  }

  next(timeMs?: number): string {
    const height = this.#state.height + 1;
    const founding = this.#createScene(timeMs ?? this.#foundingTime());
    this.#found(founding);
    const scene = founding.draft.isEmpty
      ? this.#createScene(timeMs ?? this.#foundingTime() + this.#intervalMs)
      : founding;
    if (scene !== founding) this.#trade(scene);
    const line = scene.draft.formatLine(height, scene.time);
    applyBlock(this.#state, parseBlock(line));
    return line;
  }

  get #intervalMs(): number {
    return this.#options.intervalMs ?? INTERVAL_MS;
  }

  /** The start takes no simulated time, however many blocks it needs. */
  #foundingTime(): number {
    const { startTimeMs = START_TIME_MS } = this.#options;
    return this.#state.height === 0 ? startTimeMs : this.#state.time;
  }

  /** A clock that was set back does not set the ledger back. */
  #createScene(timeMs: number): Scene {
    return {
      state: this.#state,
      time: Math.max(timeMs, this.#state.time),
      random: this.#random,
      roster: this.#roster,
      draft: new BlockDraft(),
    };
  }

  /** Fills a block from one phase of the start; it stays empty when all of them are through. */
  #found(scene: Scene): void {
    const { positionsPerAccount } = this.#options;
    while (scene.draft.isEmpty && (this.#phase !== undefined || this.#phases.length > 0)) {
      this.#phase ??= this.#phases.shift()?.({ ...scene, positionsPerAccount });
      this.#fillFromPhase(scene.draft);
    }
  }

  #fillFromPhase(draft: BlockDraft): void {
    while (!draft.isFull) {
      const { done, value } = this.#phase?.next() ?? { done: true, value: undefined };
      if (done) {
        this.#phase = undefined;
        return;
      }
      draft.append(value);
    }
  }

  /** The order matters once: funding is paid before anyone trades, and marks move after all. */
  #trade(scene: Scene): void {
    if (this.#options.auctions !== false) runAuctions(scene, this.#auctionTerms);
    this.#funding.step(scene);
    this.#patrol.step(scene);
    this.#arrivals.step(scene);
    moveMoney(scene);
    changeStakes(scene);
    trade(scene);
    changeTiers(scene);
    moveMarks(scene);
  }
}
