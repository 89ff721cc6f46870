/**
 * A queue from which any item can be taken out at once, because each knows its neighbours. Items come
 * and go thousands of times a second: a Set takes several times as long, and leaves garbage.
 */

/** An item; it is in one list at a time. */
export interface ListNode<Item extends ListNode<Item>> {
  list: LinkedList<Item> | undefined;
  previous: Item | undefined;
  next: Item | undefined;
}

export class LinkedList<Item extends ListNode<Item>> {
  #first: Item | undefined;
  #last: Item | undefined;

  get first(): Item | undefined {
    return this.#first;
  }

  /** At the end, from whichever list it was in; an item that is here already keeps its place. */
  append(item: Item): void {
    if (item.list === this) return;
    item.list?.remove(item);
    item.list = this;
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  /** Does nothing if the item is not here. */
  remove(item: Item): void {
    if (item.list !== this) return;
    const { previous, next } = item;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    item.list = undefined;
    item.previous = undefined;
    item.next = undefined;
  }

  clear(): void {
    while (this.#first !== undefined) this.remove(this.#first);
  }
}
