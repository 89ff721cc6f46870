/** The history of a value over the exchange's time. Only changes are stored. */

export class History<T> {
  readonly #times: number[] = [];
  readonly #values: T[] = [];
  #last: string | undefined;

  /** Adds a value. The times must ascend. */
  add(time: number, value: T): void {
    const text = JSON.stringify(value, (_, part) =>
      typeof part === 'bigint' ? String(part) : part,
    );
    if (text === this.#last) return;
    this.#last = text;
    this.#times.push(time);
    this.#values.push(value);
  }

  /** Returns the value at a time; returns undefined before the first value. */
  at(time: number): T | undefined {
    return this.#values[this.#indexAt(time)];
  }

  get first(): T {
    return this.#values[0];
  }

  /** Returns the times of the changes from a time on. */
  changesSince(time: number): readonly number[] {
    return this.#times.filter((changed) => changed >= time);
  }

  /** Returns all values between two times, both inclusive, the earliest value first. */
  between(from: number, to: number): readonly T[] {
    return this.#values.slice(Math.max(0, this.#indexAt(from)), this.#indexAt(to) + 1);
  }

  #indexAt(time: number): number {
    let low = 0;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
