import type { ProcessContext } from "../../client/this-process.ts";
import type { GraphicsSupport } from "../../graphics/terminal.ts";
import type { InterruptedError } from "../../lib/interrupted.ts";
import type { OutputStream } from "../text/output-stream.ts";

/** A stream that the program reads from. Destroying it ends the reading. */
export interface InputStream extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean;
  /** Whether all of it was read, to its end: at Ctrl-D on a terminal. */
  readonly readableEnded?: boolean;
  /** Reads it as `for await` does, and may leave it open. */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Buffer | string>;
  destroy(): void;
}

/** All that a command needs from its process and terminal. Tests pass a double. */
export interface Context extends ProcessContext {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** `22.20.1` */
  readonly nodeVersion: string;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP, with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** Lines to write when a second signal ends the process at once. */
  onSecondSignal: (reason: InterruptedError) => Promise<unknown>;
  /**
   * Asks providers to stop what they have accepted, and prints whether they do: called at a second signal. Absent if there
   * is nothing to stop.
   */
  stopAccepted?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Asks on the terminal, and reads a line there. */
  ask: (question: string) => Promise<string>;
  /** Asks as `ask` does, without showing what is typed. */
  askHidden: (question: string) => Promise<string>;
  /** Sends the terminal a query that ends with one for its attributes, and returns its answer; empty if it is late. */
  queryTerminal: (question: string) => Promise<string>;
  /** Waits for the end of the last query: until then the terminal's input may be the answer to it. */
  terminalIsSilent?: () => Promise<void>;
  /** The graphics protocols that the environment names. */
  namedGraphics: () => Promise<GraphicsSupport>;
  /** Lets the user edit a text in their editor. @throws UsageError if that fails */
  edit: (text: string) => Promise<string>;
  /** Shows a text in the user's pager until they leave it, deaf to Ctrl-C. @returns false if it cannot be started */
  page: (text: string) => Promise<boolean>;
  /** Whether this process may draw on the terminal. After a shell's `bg` it may not: the prompt is there. */
  isInForeground: () => boolean;
  /**
   * Calls `before` before Ctrl-Z stops the program, and `after` when it continues.
   * @returns a function that removes the listeners
   */
  onSuspend: (before: () => void, after: () => void) => () => void;
}
