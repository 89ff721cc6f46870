/**
 * A file with the weight that was spent in the last minute. Because of this file, a follower that
 * is killed and restarted does not spend the same budget twice in one minute.
 *
 * The file is a ring of slots, one slot for each second. A slot has three little-endian doubles:
 * the second since 1970, the weight of the follower's questions, and the weight of forwarded
 * questions. The file is not flushed to the disk. Its content survives the end of the process. It
 * may be lost when the machine restarts, but a restart takes longer than the budget needs to
 * recover.
 */

import { createHash } from 'node:crypto';
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';

const SLOTS = 64;
const SLOT_BYTES = 24;
/** The maximum weight in a slot. No follower spends this much in a second. */
const WEIGHT_MAX = 1e6;
/** The maximum time between the sending of a request and its arrival. */
const ARRIVAL_MS_MAX = 2_000;

export interface Spent {
  /** The minimum age of the weight: the upstream counted it at least this long ago. */
  readonly agoMs: number;
  readonly own: number;
  readonly forwarded: number;
}

/** The part of the file that the budget uses. */
export interface SpentLog {
  /** Returns the weight that was spent in the last minute, the oldest first. */
  load(): readonly Spent[];
  /** Notes the weight of a request. To be called before the request is sent. */
  note(weight: number, isForwarded: boolean): void;
  close(): void;
}

interface Slot {
  readonly second: number;
  readonly own: number;
  readonly forwarded: number;
}

export class SpentFile implements SpentLog {
  readonly #file: string;
  readonly #warn: (message: string) => void;
  readonly #slot = Buffer.alloc(SLOT_BYTES);
  #descriptor: number | undefined;
  #hasFailed = false;

  /**
   * The name of the file depends on the upstream's origin, because each upstream has a separate
   * budget.
   */
  constructor(folder: string, origin: string, warn: (message: string) => void) {
    const hash = createHash('sha256').update(origin).digest('hex').slice(0, 8);
    this.#file = path.join(folder, `upstream-${hash}.spent`);
    this.#warn = warn;
  }

  load(): readonly Spent[] {
    const nowMs = Date.now();
    const slots = this.#readSlots().filter((slot) => isRecent(slot, nowMs));
    const last = slots.at(-1);
    // Weight that is spent in the same second is added to this slot.
    if (last !== undefined) this.#fillSlot(last);
    return slots.map(({ second, own, forwarded }) => {
      const arrivedMs = (second + 1) * 1000 + ARRIVAL_MS_MAX;
      return { agoMs: Math.max(0, nowMs - arrivedMs), own, forwarded };
    });
  }

  #fillSlot({ second, own, forwarded }: Slot): void {
    for (const [index, value] of [second, own, forwarded].entries()) {
      this.#slot.writeDoubleLE(value, 8 * index);
    }
  }

  #readSlots(): Slot[] {
    const bytes = this.#readBytes();
    const slots = Array.from({ length: Math.floor(bytes.length / SLOT_BYTES) }, (_, index) => {
      const [second, own, forwarded] = [0, 8, 16].map((at) =>
        bytes.readDoubleLE(index * SLOT_BYTES + at),
      );
      return { second, own, forwarded };
    });
    return slots.sort((first, second) => first.second - second.second);
  }

  #readBytes(): Buffer {
    try {
      return readFileSync(this.#file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#fail(error as Error);
      return Buffer.alloc(0);
    }
  }

  note(weight: number, isForwarded: boolean): void {
    const second = Math.floor(Date.now() / 1000);
    if (this.#slot.readDoubleLE(0) !== second) {
      this.#fillSlot({ second, own: 0, forwarded: 0 });
    }
    const at = isForwarded ? 16 : 8;
    this.#slot.writeDoubleLE(this.#slot.readDoubleLE(at) + weight, at);
    try {
      this.#descriptor ??= this.#open();
      writeSync(this.#descriptor, this.#slot, 0, SLOT_BYTES, (second % SLOTS) * SLOT_BYTES);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /**
   * Creates the folder if it is missing. For a ledger on NATS, the folder is only for snapshots,
   * and does not exist before its first use.
   */
  #open(): number {
    mkdirSync(path.dirname(this.#file), { recursive: true, mode: 0o700 });
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    return openSync(this.#file, flags, 0o600);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Logs only the first failure. A full disk must not stop the follower. */
  #fail({ message }: Error): void {
    if (!this.#hasFailed) this.#warn(`the spent weight of the budget cannot be stored: ${message}`);
    this.#hasFailed = true;
  }
}

/** Returns false also for impossible values, which a damaged file may contain. */
function isRecent({ second, own, forwarded }: Slot, nowMs: number): boolean {
  const isNear = Math.abs(nowMs / 1000 - second) < SLOTS;
  return isNear && [own, forwarded].every((weight) => weight >= 0 && weight <= WEIGHT_MAX);
}
