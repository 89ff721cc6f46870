/**
 * A queue from which any item can be taken out at once, because each knows its neighbours. Items come
 * and go thousands of times a second: a Set takes several times as long, and leaves garbage.
 */

/** An item; it is in one chain at a time. */
export interface Link<Item extends Link<Item>> {
  chain: Chain<Item> | undefined;
  previous: Item | undefined;
  next: Item | undefined;
}

export class Chain<Item extends Link<Item>> {
  #first: Item | undefined;
  #last: Item | undefined;

  get first(): Item | undefined {
    return this.#first;
  }

  /** At the end, from whichever chain it was in; an item that is here already keeps its place. */
  append(item: Item): void {
    if (item.chain === this) return;
    item.chain?.remove(item);
    item.chain = this;
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  /** Does nothing if the item is not here. */
  remove(item: Item): void {
    if (item.chain !== this) return;
    const { previous, next } = item;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    item.chain = undefined;
    item.previous = undefined;
    item.next = undefined;
  }

  clear(): void {
    while (this.#first !== undefined) this.remove(this.#first);
  }
}
