/** A stream that the program reads from. Destroying it ends the reading. */
export interface InputStream extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean;
  /** Whether all of it was read, to its end: at Ctrl-D on a terminal. */
  readonly readableEnded?: boolean;
  /** Reads it as `for await` does, and may leave it open. */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Buffer | string>;
  destroy(): void;
}

/** An input that stays open where its reader stops before the end. */
export function keptOpen(stdin: InputStream): InputStream {
  const chunks = stdin.iterator?.({ destroyOnReturn: false }) ?? stdin;
  return { [Symbol.asyncIterator]: () => chunks[Symbol.asyncIterator](), destroy: () => stdin.destroy() };
}
