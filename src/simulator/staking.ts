/** Staking: delegations, undelegations and rewards. */

import type { WireEvent } from '../events/event.ts';
import { STAKE_DECIMALS } from '../events/fields.ts';
import { formatAddress } from '../exact/address.ts';
import { type Exact, formatUnits } from '../exact/decimal.ts';
import { FIRST_DELEGATION } from '../state/addresses.ts';
import { delegatedAmount, LOCKED_UNTIL, NEXT_DELEGATION, VALIDATOR } from '../state/staking.ts';
import type { Random } from './random.ts';
import { pickUser, type Scene, userAt } from './scene.ts';

const DELEGATOR_CHANCE = 0.4;
const DELEGATIONS_MAX = 3;
const EXPIRED_CHANCE = 0.75;
const DAY_MS = 86_400_000;
const COIN_UNITS = 10 ** STAKE_DECIMALS;

/**
 * The probability of a new stake. It is lower than that of a change, because a new stake stays for
 * at least a day.
 */
const DELEGATE_CHANCE = 0.1;
const CHANGE_CHANCE = 0.5;
const REWARD_CHANCE = 0.6;
const TAKE_ALL_CHANCE = 0.4;
/** A reward is the stake divided by this number. */
const REWARD_DIVISOR = 20_000n;

function formatStake(units: Exact): string {
  return formatUnits(units, STAKE_DECIMALS);
}

function drawStake(random: Random): string {
  const hundredths = Math.floor(random.heavyTailed(5, 5000) * 100);
  return formatStake(hundredths * (COIN_UNITS / 100));
}

/** Draws the delegations with which a user starts. Most of their locks have expired. */
export function* drawDelegations(
  { time, random, roster }: Omit<Scene, 'draft'>,
  user: string,
): Generator<WireEvent> {
  if (!random.chance(DELEGATOR_CHANCE)) return;
  const first = random.below(roster.validators.length);
  const count = 1 + random.below(DELEGATIONS_MAX);
  for (let index = first; index < first + count; index++) {
    const age = Math.floor(random.between(0, DAY_MS));
    const lockedUntil = random.chance(EXPIRED_CHANCE) ? time - 20 * age : time + age;
    yield {
      type: 'delegation',
      user,
      validator: roster.validators[index % roster.validators.length].text,
      amount: drawStake(random),
      lockedUntilTimestamp: Math.max(0, lockedUntil),
    };
  }
}

export function changeStakes(scene: Scene): void {
  if (scene.random.chance(DELEGATE_CHANCE)) delegate(scene);
  if (scene.random.chance(CHANGE_CHANCE)) changeDelegation(scene);
}

function delegate(scene: Scene): void {
  const { random, roster, draft } = scene;
  const row = pickUser(scene);
  if (row === 0) return;
  draft.append({
    type: 'delegate',
    user: userAt(scene, row),
    validator: random.pick(roster.validators).text,
    amount: drawStake(random),
  });
}

/** Appends a reward, or an undelegation if the lock has expired. */
function changeDelegation(scene: Scene): void {
  const { state, time, random, draft } = scene;
  const userRow = pickUser(scene);
  const delegation = pickDelegation(scene, userRow);
  if (delegation === 0) return;
  const user = userAt(scene, userRow);
  const validatorRow = state.delegations.get(delegation, VALIDATOR);
  const validator = formatAddress(state.addresses.addressOf(validatorRow));
  const staked = delegatedAmount(state, delegation);
  if (random.chance(REWARD_CHANCE)) {
    const amount = formatStake(staked / REWARD_DIVISOR + 1n);
    draft.append({ type: 'delegationReward', user, validator, amount });
  } else if (time >= state.delegations.get(delegation, LOCKED_UNTIL)) {
    const amount = formatStake(random.chance(TAKE_ALL_CHANCE) ? staked : staked / 2n + 1n);
    draft.append({ type: 'undelegate', user, validator, amount });
  }
}

/** Picks one of the user's delegations; returns 0 if there is none. */
function pickDelegation({ state, random }: Scene, userRow: number): number {
  let delegation = state.addresses.table.get(userRow, FIRST_DELEGATION);
  for (;;) {
    const next = state.delegations.get(delegation, NEXT_DELEGATION);
    if (delegation === 0 || next === 0 || random.chance(0.5)) return delegation;
    delegation = next;
  }
}
