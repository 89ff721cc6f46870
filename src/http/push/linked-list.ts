/**
 * A doubly linked list: a queue from which any item can be removed in constant time. It is used
 * instead of a Set because items are added and removed thousands of times a second. A Set takes
 * several times as long, and creates garbage.
 */

/** An item of a list. An item is in at most one list at a time. */
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

  /**
   * Moves an item from its former list to the end of this list. Does nothing if the item is already
   * in this list.
   */
  append(item: Item): void {
    if (item.list === this) return;
    item.list?.remove(item);
    item.list = this;
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  /** Removes an item. Does nothing if the item is not in this list. */
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
