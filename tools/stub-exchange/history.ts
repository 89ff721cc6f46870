/** A value over the exchange's time: kept where it changed. */

export class History<T> {
  readonly #times: number[] = [];
  readonly #values: T[] = [];
  #last: string | undefined;

  /** Times ascend. */
  add(time: number, value: T): void {
    const text = JSON.stringify(value, (_, part) =>
      typeof part === 'bigint' ? String(part) : part,
    );
    if (text === this.#last) return;
    this.#last = text;
    this.#times.push(time);
    this.#values.push(value);
  }

  /** The value at a time; undefined before the first. */
  at(time: number): T | undefined {
    return this.#values[this.#indexAt(time)];
  }

  get first(): T {
    return this.#values[0];
  }

  /** When it changed, from a time on. */
  changesSince(time: number): readonly number[] {
    return this.#times.filter((changed) => changed >= time);
  }

  /** All values between two times, both included, the earliest first. */
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
