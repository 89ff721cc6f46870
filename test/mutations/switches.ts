/** The switches that mutants are behind, at most one of them on, and the turns of loops. */

/** Of the mutant that is switched on, 0 if none is. */
export const active = { id: 0 };

/** Small enough to be counted without allocating. */
const TURNS_MAX = 2 ** 30;

const turns = { left: TURNS_MAX };
let reached = new Uint8Array();

/** Called in every turn of a loop. */
export function countTurn(): void {
  if (--turns.left < 0) throw new Error('more turns than a test without a mutant could need');
}

/** In place of a switch: notes that the mutant could have been on. */
export function isReached(id: number): false {
  reached[id] = 1;
  return false;
}

export function activate(id: number, turnsMax = TURNS_MAX): void {
  active.id = id;
  turns.left = Math.min(turnsMax, TURNS_MAX);
}

export function hasEndlessLoop(): boolean {
  return turns.left < 0;
}

/** Notes which mutants are reached until `stopNoting`, and how many turns loops take. */
export function startNoting(mutantCount: number): void {
  reached = new Uint8Array(mutantCount + 1);
  turns.left = TURNS_MAX;
}

export function stopNoting(): { reached: Uint8Array; turns: number } {
  return { reached, turns: TURNS_MAX - turns.left };
}
