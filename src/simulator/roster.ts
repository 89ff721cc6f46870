/**
 * The participants. Every user and validator is derived from the seed and an index, so a million
 * users need no memory. The first users are market makers, the next are whales, all others are
 * retail users.
 */

import { type Address, formatAddress } from '../exact/address.ts';
import { Random } from './random.ts';

export type Role = 'maker' | 'whale' | 'retail';

const MAKERS_MIN = 3;
const MAKERS_MAX = 24;
const USERS_PER_MAKER = 25;
const USERS_PER_WHALE = 40;
const VALIDATOR_COUNT = 12;

/** The share of users that a ledger starts with; the others arrive later. */
const INITIAL_USER_SHARE = 0.8;

export interface Participant {
  readonly address: Address;
  readonly text: string;
}

export interface RosterOptions {
  readonly seed: string;
  readonly userCount: number;
  /** True if no user arrives later. */
  readonly startsWithAllUsers: boolean;
}

export class Roster {
  readonly userCount: number;
  /** Users below this index are in the first blocks. */
  readonly initialUserCount: number;
  readonly makers: readonly Participant[];
  readonly validators: readonly Participant[];
  readonly #seed: string;
  readonly #whaleCount: number;
  readonly #makerTexts: ReadonlySet<string>;

  constructor({ seed, userCount, startsWithAllUsers }: RosterOptions) {
    this.#seed = seed;
    this.userCount = userCount;
    const makersWanted = Math.ceil(userCount / USERS_PER_MAKER);
    const makerCount = Math.min(userCount, MAKERS_MAX, Math.max(MAKERS_MIN, makersWanted));
    this.#whaleCount = Math.ceil(userCount / USERS_PER_WHALE);
    this.initialUserCount = startsWithAllUsers
      ? userCount
      : Math.max(makerCount, Math.ceil(userCount * INITIAL_USER_SHARE));
    this.makers = Array.from({ length: makerCount }, (_, index) => this.user(index));
    this.#makerTexts = new Set(this.makers.map(({ text }) => text));
    this.validators = Array.from({ length: VALIDATOR_COUNT }, (_, index) =>
      this.#participant('validator', index),
    );
  }

  user(index: number): Participant {
    return this.#participant('user', index);
  }

  deployer(dex: string): Participant {
    return this.#participant('deployer', dex);
  }

  roleOf(index: number): Role {
    if (index < this.makers.length) return 'maker';
    return index < this.makers.length + this.#whaleCount ? 'whale' : 'retail';
  }

  isMaker(user: string): boolean {
    return this.#makerTexts.has(user);
  }

  #participant(kind: string, name: number | string): Participant {
    const random = new Random(`${this.#seed}/${kind}/${name}`);
    const address = {
      word0: addressWord(random),
      word1: addressWord(random),
      word2: addressWord(random),
      word3: addressWord(random),
    };
    return { address, text: formatAddress(address) };
  }
}

/** Draws a word of an address: forty random bits. */
function addressWord(random: Random): number {
  return random.word() * 256 + (random.word() & 255);
}
