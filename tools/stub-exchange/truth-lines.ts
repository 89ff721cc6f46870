/**
 * The ledger of the stub's exchange: the simulator's blocks, with additions that the simulator does
 * not make. One balance backs all dexes with the same collateral token, so the collateral on one of
 * them changes with the marks of the others. Funding is booked some seconds after the hour.
 */

import { parseBlock, type WireEvent } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { add, type Exact, formatUnits, maximum, subtract } from '../../src/exact/decimal.ts';
import { findListing } from '../../src/simulator/listings.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { FIRST_ACCOUNT } from '../../src/state/addresses.ts';
import { type AccountFigures, accountFigures } from '../../src/state/figures/figures.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { COLLATERAL } from '../../src/state/tables/columns.ts';

/** Dexes whose accounts are backed by one balance. */
const POOLED_DEXES: readonly string[] = ['', 'idx'];
const USD_DECIMALS = 6;
/** The delay of the simulator's clock, so that the hours of the simulator start later. */
const FUNDING_LATE_MS = 4_000;

export interface TruthOptions {
  /** The state after the existing lines. */
  readonly state: State;
  /** The existing lines, if there are any. */
  readonly lines?: readonly string[];
  /** The state of the simulator, if events may be added to its blocks. */
  readonly resume?: State;
  readonly fundingLateMs?: number | undefined;
}

/** Vaults have this leverage on every coin. Early users have the margin tables of an earlier time. */
const VAULTS = /[58]$/;
const VAULT_LEVERAGE = 50;
const EARLY_USERS = /[6b]$/;

interface SetUpEvent {
  readonly type: string;
  readonly user: string;
  readonly positions: { readonly coin: string; marginTiers?: object[] }[];
}

/**
 * Adds separate tiers to the positions with which an account is set up. Positions that are opened
 * later have their market's tiers.
 */
function addOwnTiers({ type, user, positions }: SetUpEvent): void {
  if (type !== 'account') return;
  const isVault = VAULTS.test(user);
  if (!isVault && !EARLY_USERS.test(user)) return;
  for (const position of positions) {
    const [{ maxLeverage }] = findListing(position.coin)?.tiers ?? [];
    const own = isVault ? VAULT_LEVERAGE : 2 * maxLeverage;
    if (own <= VAULT_LEVERAGE) position.marginTiers = [{ lowerBound: '0.0', maxLeverage: own }];
  }
}

interface PooledAccount {
  readonly dex: string;
  readonly collateral: number;
  /**
   * Returns the amount that the account could lose before it is liquidated, without its collateral.
   */
  buffer(): Exact;
}

export class TruthLines {
  readonly #simulator: Simulator;
  readonly #state: State;
  readonly #options: TruthOptions;
  /** The exchange as the simulator sees it, with the tiers that the simulator does not know. */
  readonly #unpooled = createState();
  #added: readonly WireEvent[] = [];

  constructor(simulator: Simulator, options: TruthOptions) {
    this.#simulator = simulator;
    this.#state = options.state;
    this.#options = options;
    for (const line of options.lines ?? []) applyBlock(this.#unpooled, parseBlock(line));
  }

  /** Adds events, which come first in the next line. */
  add(events: readonly WireEvent[]): void {
    this.#added = [...this.#added, ...events];
  }

  get state(): StateView {
    return this.#state;
  }

  get isSetUp(): boolean {
    return this.#simulator.isSetUp;
  }

  next(timeMs: number): string {
    const added = this.#takeAdded();
    const { fundingLateMs = FUNDING_LATE_MS } = this.#options;
    const { isSetUp } = this;
    const { events } = JSON.parse(this.#simulator.next(timeMs - fundingLateMs));
    if (!isSetUp) for (const event of events) addOwnTiers(event);
    const block = { height: this.#state.height + 1, time: timeMs, events: [...added, ...events] };
    applyBlock(this.#unpooled, parseBlock(JSON.stringify(block)));
    const line = JSON.stringify({ ...block, events: [...block.events, ...this.#pool()] });
    applyBlock(this.#state, parseBlock(line));
    return line;
  }

  #takeAdded(): readonly WireEvent[] {
    const events = this.#added;
    this.#added = [];
    const { resume } = this.#options;
    if (events.length === 0 || resume === undefined) return [];
    const { height, time } = resume;
    applyBlock(resume, parseBlock(JSON.stringify({ height: height + 1, time, events })));
    return events;
  }

  /**
   * Returns events for the changed collateral of users who are unified on several dexes with one
   * token.
   */
  #pool(): object[] {
    const state = this.#unpooled;
    const rows = Array.from({ length: state.addresses.table.rowCount - 1 }, (_, row) => row + 1);
    return rows
      .filter((row) => state.addresses.table.get(row, FIRST_ACCOUNT) !== 0)
      .flatMap((row) => this.#poolUser(row));
  }

  #poolUser(row: number): object[] {
    const accounts = listPooled(this.#unpooled, row);
    const own = accounts.map(({ collateral }) => collateral).reduce(add, 0);
    const address = this.#unpooled.addresses.addressOf(row);
    const known = listPooled(this.#state, this.#state.addresses.find(address));
    const isPooled = hasCollateral(this.#unpooled, row);
    const wasPooled = known.some(({ collateral }) => collateral !== 0);
    if (accounts.length < 2 || !(isPooled || wasPooled)) return [];
    const amounts = isPooled ? poolCollateral(own, accounts) : accounts.map(() => 0);
    const user = formatAddress(address);
    return accounts.map(({ dex }, index) => {
      const amount = formatUnits(amounts[index], USD_DECIMALS);
      return { type: 'collateral', user, dex, amount };
    });
  }
}

/**
 * Returns the collateral on each dex: the free amount plus the amount that the other dexes could
 * lose.
 */
function poolCollateral(own: Exact, accounts: readonly PooledAccount[]): Exact[] {
  const buffers = accounts.map(({ buffer }) => buffer());
  const sum = buffers.reduce(add, 0);
  const others = buffers.map((buffer) => subtract(sum, buffer));
  // A ledger does not allow a negative collateral, so the user is given more money.
  const free = others.reduce((most, other) => maximum(most, subtract(0, other)), own);
  return others.map((other) => add(free, other));
}

function listPooled(state: StateView, row: number): PooledAccount[] {
  return POOLED_DEXES.flatMap((dex) => {
    const account = findAccount(state, row, state.markets.findDex(dex) ?? 0);
    if (account === 0) return [];
    const collateral = state.accounts.get(account, COLLATERAL);
    return [{ dex, collateral, buffer: () => bufferOf(accountFigures(state, account)) }];
  });
}

/**
 * True if the user is unified. A user is unified on all dexes or on none, whatever their token is.
 */
function hasCollateral(state: StateView, row: number): boolean {
  return state.markets.dexes.some((_, dexIndex) => {
    const account = findAccount(state, row, dexIndex);
    return account !== 0 && state.accounts.get(account, COLLATERAL) > 0;
  });
}

function bufferOf({ crossSummary, crossMaintenanceMargin }: AccountFigures): Exact {
  return subtract(crossSummary.accountValue, crossMaintenanceMargin);
}
