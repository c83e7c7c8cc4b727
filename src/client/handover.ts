/** Items on their way from whoever makes them to one who takes them, each of which waits until it is taken. */
export class Handover<Item> {
  readonly #waiting: { item: Item; taken: () => void }[] = [];
  #wake: () => void = () => {};
  #isOver = false;

  /** Resolves once the item is taken, or once nobody takes any more. */
  give(item: Item): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((taken) => {
      this.#waiting.push({ item, taken });
      this.#wake();
    });
  }

  /** Nothing more is given, or taken. */
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
