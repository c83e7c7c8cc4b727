/** An unbuffered queue: passes items from producers to one consumer, and each producer waits until its item is taken. */
export class Handover<Item> {
  readonly #waiting: { item: Item; taken: () => void }[] = [];
  #wake: () => void = () => {};
  #isOver = false;

  /** Resolves once the item is taken, or after `end`. */
  give(item: Item): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((taken) => {
      this.#waiting.push({ item, taken });
      this.#wake();
    });
  }

  /** Ends the queue: producers stop waiting, and `items` ends. */
  end(): void {
    this.#isOver = true;
    for (const { taken } of this.#waiting) taken();
    this.#wake();
  }

  /** Every item in the order given, until the end. */
  async *items(): AsyncGenerator<Item> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        next.taken();
        yield next.item;
      } else if (this.#isOver) return;
      else await new Promise<void>((wake) => (this.#wake = wake));
    }
  }
}
