/**
 * The scene of a block: the state that the parts of the simulator read, and the draft that they
 * append events to.
 *
 * Every event of a block is decided from the state before the block. This is safe because a user
 * acts at most once in a block. Only market makers trade more often, and their fills are always
 * valid.
 */

import type { WireEvent } from '../events/event.ts';
import { USD_DECIMALS } from '../events/fields.ts';
import { formatAddress } from '../exact/address.ts';
import { formatUnits } from '../exact/decimal.ts';
import { FIRST_ACCOUNT } from '../state/addresses.ts';
import type { StateView } from '../state/state.ts';
import { ACCOUNT_DEX, NEXT_ACCOUNT } from '../state/tables/columns.ts';
import type { Random } from './random.ts';
import type { Roster } from './roster.ts';

/**
 * A block of this size is full. The size is well below the limit of any ledger, even with one more
 * event.
 */
const BLOCK_BYTES_FULL = 200 * 1024;

export class BlockDraft {
  readonly #texts: string[] = [];
  readonly #acted = new Set<number>();
  #byteCount = 0;

  append(event: WireEvent): void {
    const text = JSON.stringify(event); // The text is ASCII, so its length is its size in bytes.
    this.#texts.push(text);
    this.#byteCount += text.length + 1;
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  get isFull(): boolean {
    return this.#byteCount >= BLOCK_BYTES_FULL;
  }

  /** Reserves the user's only action in this block; returns false if the user has already acted. */
  claim(addressRow: number): boolean {
    if (this.#acted.has(addressRow)) return false;
    this.#acted.add(addressRow);
    return true;
  }

  formatLine(height: number, time: number): string {
    return `{"height":${height},"time":${time},"events":[${this.#texts.join(',')}]}`;
  }
}

export interface Scene {
  /** The state after the previous block. */
  readonly state: StateView;
  /** The time of this block. */
  readonly time: number;
  readonly random: Random;
  readonly roster: Roster;
  readonly draft: BlockDraft;
}

/** A user's account on one dex. */
export interface Actor {
  readonly user: string;
  readonly account: number;
  readonly dexIndex: number;
  readonly dex: string;
}

const PICK_ATTEMPTS = 8;
/** The chance that a user with accounts on several dexes uses the account on the next dex. */
const NEXT_DEX_CHANCE = 0.35;

export function userAt({ state }: Scene, addressRow: number): string {
  return formatAddress(state.addresses.addressOf(addressRow));
}

/**
 * Claims a random user who is not a market maker and has not acted yet. Returns the user's row;
 * returns 0 if no user is found.
 */
export function pickUser(scene: Scene): number {
  const { state, random, roster, draft } = scene;
  const { table } = state.addresses;
  for (let attempt = 0; attempt < PICK_ATTEMPTS; attempt++) {
    const row = 1 + random.below(table.rowCount - 1);
    if (table.get(row, FIRST_ACCOUNT) === 0 || roster.isMaker(userAt(scene, row))) continue;
    if (draft.claim(row)) return row;
  }
  return 0;
}

/**
 * Picks one of the accounts of a user who has not acted yet; returns undefined if no user is found.
 */
export function pickActor(scene: Scene): Actor | undefined {
  const { state, random } = scene;
  const row = pickUser(scene);
  if (row === 0) return undefined;
  let account = state.addresses.table.get(row, FIRST_ACCOUNT);
  for (;;) {
    const next = state.accounts.get(account, NEXT_ACCOUNT);
    if (next === 0 || !random.chance(NEXT_DEX_CHANCE)) break;
    account = next;
  }
  return actorOf(scene, row, account);
}

export function actorOf(scene: Scene, addressRow: number, account: number): Actor {
  const { state } = scene;
  const dexIndex = state.accounts.get(account, ACCOUNT_DEX);
  const dex = state.markets.dexes[dexIndex].name;
  return { user: userAt(scene, addressRow), account, dexIndex, dex };
}

/** The indexes of a dex's markets. */
export function marketsOfDex({ markets }: StateView, dexIndex: number): number[] {
  return [...markets.markets.keys()].filter(
    (index) => markets.markets[index].dexIndex === dexIndex,
  );
}

export function formatUsd(micros: number): string {
  return formatUnits(micros, USD_DECIMALS);
}

export const USD = 1_000_000;
const CENT = 10_000;

/** Rounds an amount down to whole cents, because people transfer whole cents. */
export function wholeCents(micros: number): number {
  return Math.floor(micros / CENT) * CENT;
}
