/** The switches that mutants are behind, at most one of them on, and the turns of loops. */

/** Of the mutant that is switched on, 0 if none is. */
export const active = { id: 0 };

/** Small enough to be counted without allocating. */
const TURNS_MAX = 2 ** 30;

const turns = { left: TURNS_MAX };
let reached = new Uint8Array();
/** By id: how often it was entered and not yet compared. */
let entered = new Int32Array();
let compared = new Int32Array();
/** To save time, what was compared so often counts as a difference. */
const COMPARED_MAX = 10_000;

/** Called in every turn of a loop. */
export function countTurn(): void {
  if (--turns.left < 0) throw new Error('more turns than a test without a mutant could need');
}

/** Notes that the mutant could have made a difference. */
export function reach(id: number): void {
  reached[id] = 1;
}

/** Before the original of a mutant that is compared with it. */
export function enter(id: number): void {
  entered[id]++;
}

/** Notes if the mutant has another value; returns the original. */
export function compare<T>(original: T, id: number, compute: () => unknown): T {
  if (isOpen(id)) noteDifference(id, compute, (value) => !Object.is(value, original));
  return original;
}

/** The same for a condition: it makes a difference only if it turns out the other way. */
export function compareTruth<T>(original: T, id: number, compute: () => unknown): T {
  if (isOpen(id)) noteDifference(id, compute, (value) => !value !== !original);
  return original;
}

/** The same for a condition that is replaced with a constant, which costs little. */
export function compareConstant<T>(original: T, id: number, isTrue: boolean): T {
  entered[id]--;
  if (!original === isTrue) reached[id] = 1;
  return original;
}

/** Whether it is still to be found out if the mutant makes a difference. */
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

/** Notes which mutants make a difference until `stopNoting`, and how many turns loops take. */
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
