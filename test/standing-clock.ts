/** A clock that stands still until a test moves it, so that services that are compared see one time. */

export class StandingClock {
  #nowMs = 1_800_000_000_000;

  constructor() {
    // The test runner's mocks would keep a record of every call.
    const now = () => this.#nowMs;
    Object.defineProperty(Date, 'now', { value: now });
    Object.defineProperty(performance, 'now', { value: now });
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
