import { errorCode } from "../lib/error-code.ts";
import { printable } from "../lib/escape.ts";
import type { Context } from "./context.ts";
import { isClosedPipe, type OutputStream } from "./output-stream.ts";

/** Standard output could not take the result. */
export class OutputError extends Error {
  override readonly name = "OutputError";
}

/** The contexts that have had their result, or have it under way, from whichever console. */
const answered = new WeakSet<object>();

/**
 * The two streams and what belongs on each: results on standard output, everything else on standard error.
 * A reader that has gone away is no failure of ours; a disk that is full behind a redirection is.
 */
export class Console {
  readonly #streams: Pick<Context, "stdout" | "stderr">;
  readonly #warned = new Set<string>();
  readonly quiet: boolean;
  /** Runs before each write, to take a spinner off the line. */
  beforeWrite: () => void = () => {};
  afterWrite: () => void = () => {};

  constructor(streams: Pick<Context, "stdout" | "stderr">, options: { quiet: boolean }) {
    this.#streams = streams;
    this.quiet = options.quiet;
  }

  /** Whether anything has gone to standard output as a result. */
  get hasAnswered(): boolean {
    return answered.has(this.#streams);
  }

  /** A line of the result. @throws OutputError where the stream failed, but not where its reader has left */
  async result(line: string): Promise<void> {
    await this.resultBytes(`${line}\n`);
  }

  async resultBytes(data: string | Uint8Array): Promise<void> {
    answered.add(this.#streams);
    this.beforeWrite();
    const error = await write(this.#streams.stdout, data);
    this.afterWrite();
    if (error && !isClosedPipe(error)) {
      throw new OutputError(`Standard output could not be written (${errorCode(error) ?? error.message}).`, {
        cause: error,
      });
    }
  }

  /** Raw bytes of an image: here a reader that has left is a failure too. @throws the stream's error */
  async imageBytes(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    this.beforeWrite();
    for await (const chunk of bytes) {
      const error = await write(this.#streams.stdout, chunk);
      if (error) throw error;
    }
  }

  /** A question on a line of its own, which the answer is typed on. */
  async question(text: string): Promise<void> {
    this.beforeWrite();
    await write(this.#streams.stderr, text);
  }

  /** A word to the person at the terminal; not under `--quiet`. */
  async note(line: string): Promise<void> {
    if (!this.quiet) await this.error(line);
  }

  /** A warning, once however often it is given; not under `--quiet`. */
  async warn(message: string): Promise<void> {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    await this.note(`warning: ${printable(message)}`);
  }

  /** What even `--quiet` shows. */
  async error(line: string): Promise<void> {
    this.beforeWrite();
    await write(this.#streams.stderr, `${line}\n`);
    this.afterWrite();
  }
}

function write(stream: OutputStream, data: string | Uint8Array): Promise<Error | null> {
  return new Promise((resolve) => {
    try {
      stream.write(data, (error) => resolve(error ?? null));
    } catch (error) {
      resolve(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
