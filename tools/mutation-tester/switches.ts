/** The switches of mutants, of which at most one is on, and the counted turns of loops. */

/** The id of the mutant that is switched on; 0 if no mutant is on. */
export const active = { id: 0 };

/** A number that is small enough to be counted without an allocation. */
const TURNS_MAX = 2 ** 30;

const turns = { left: TURNS_MAX };
let reached = new Uint8Array();
/** By id: how often the mutant was entered and not compared yet. */
let entered = new Int32Array();
let compared = new Int32Array();
/** To save time, a mutant that was compared this often counts as making a difference. */
const COMPARED_MAX = 10_000;

/** Called in every turn of a loop. */
export function countTurn(): void {
  if (--turns.left < 0) throw new Error('more turns than a test without a mutant could need');
}

/** Notes that the mutant may make a difference. */
export function reach(id: number): void {
  reached[id] = 1;
}

/** Called before the original value of a mutant is computed and compared. */
export function enter(id: number): void {
  entered[id]++;
}

/** Notes if the mutant has another value; returns the original value. */
export function compare<T>(original: T, id: number, compute: () => unknown): T {
  if (isOpen(id)) noteDifference(id, compute, (value) => !Object.is(value, original));
  return original;
}

/** Does the same as `compare` for a condition: only a different truth value makes a difference. */
export function compareTruth<T>(original: T, id: number, compute: () => unknown): T {
  if (isOpen(id)) noteDifference(id, compute, (value) => !value !== !original);
  return original;
}

/**
 * Does the same as `compareTruth` for a condition that is replaced by a constant, which is fast.
 */
export function compareConstant<T>(original: T, id: number, isTrue: boolean): T {
  entered[id]--;
  if (!original === isTrue) reached[id] = 1;
  return original;
}

/** True if it is not known yet whether the mutant makes a difference. */
function isOpen(id: number): boolean {
  entered[id]--;
  return reached[id] === 0;
}

function noteDifference(
  id: number,
  compute: () => unknown,
  isOther: (value: unknown) => boolean,
): void {
  if (++compared[id] > COMPARED_MAX || throwsOr(compute, isOther)) reach(id);
}

function throwsOr(compute: () => unknown, isOther: (value: unknown) => boolean): boolean {
  try {
    return isOther(compute());
  } catch {
    return true;
  }
}

export function activate(id: number, turnsMax = TURNS_MAX): void {
  active.id = id;
  turns.left = Math.min(turnsMax, TURNS_MAX);
}

export function hasEndlessLoop(): boolean {
  return turns.left < 0;
}

/**
 * Starts to note which mutants make a difference, and how many turns loops take, until
 * `stopNoting`.
 */
export function startNoting(mutantCount: number): void {
  reached = new Uint8Array(mutantCount + 1);
  entered = new Int32Array(mutantCount + 1);
  compared = new Int32Array(mutantCount + 1);
  turns.left = TURNS_MAX;
}

export function stopNoting(): { reached: Uint8Array; turns: number } {
  for (const [id, count] of entered.entries()) if (count !== 0) reach(id);
  return { reached, turns: TURNS_MAX - turns.left };
}
