import type { ProcessContext } from "../../client/this-process.ts";
import type { GraphicsSupport } from "../../graphics/terminal.ts";
import type { InterruptedError } from "../../lib/interrupted.ts";
import type { OutputStream } from "../text/output-stream.ts";

export interface InputStream extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean;
  /** Whether the stream has ended. On a terminal, Ctrl-D ends the stream. */
  readonly readableEnded?: boolean;
  /** Reads as `for await` does, but keeps the stream open if `destroyOnReturn` is false. */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Buffer | string>;
  destroy(): void;
}

/** Interface of a command to its process and terminal. Tests replace it by a fake. */
export interface Context extends ProcessContext {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly nodeVersion: string;
  /** Aborted at the first SIGINT, SIGTERM or SIGHUP, with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** Prints the last message when a second signal ends the process. */
  onSecondSignal: (reason: InterruptedError) => Promise<unknown>;
  /**
   * Cancels accepted jobs at their providers, and prints the results. Called at a second signal. Undefined if there are
   * no jobs to stop.
   */
  stopAcceptedJobs?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  ask: (question: string) => Promise<string>;
  askHidden: (question: string) => Promise<string>;
  /** Sends a query to the terminal. @returns the reply; empty if the reply is late */
  queryTerminal: (question: string) => Promise<string>;
  /** Waits until input can no longer be the reply to a query. */
  awaitLastQuery?: () => Promise<void>;
  detectEnvironmentGraphics: () => Promise<GraphicsSupport>;
  /** Opens a text in the user's editor. @throws UsageError if the editor fails */
  edit: (text: string) => Promise<string>;
  /** Shows a text in the user's pager. @returns false if the pager cannot be started */
  page: (text: string) => Promise<boolean>;
  /** Whether this process can draw on the terminal. False after `bg`, because the shell then uses the terminal. */
  isInForeground: () => boolean;
  /**
   * Calls `onStop` before Ctrl-Z suspends the program, and `onResume` when the program continues.
   * @returns a function that removes the listeners
   */
  onSuspend: (onStop: () => void, onResume: () => void) => () => void;
}
