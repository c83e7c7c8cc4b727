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

export interface Context extends ProcessContext {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly nodeVersion: string;
  /** Aborted at the first SIGINT, SIGTERM or SIGHUP, with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** Prints the last message when a second signal ends the process. */
  onSecondSignal: (reason: InterruptedError) => Promise<unknown>;
  /** Cancels accepted jobs and prints the results, at a second signal. Undefined if there are no jobs to stop. */
  stopAcceptedJobs?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  ask: (question: string) => Promise<string>;
  askHidden: (question: string) => Promise<string>;
  /** Sends a query to the terminal. @returns the reply; empty if the reply is late */
  queryTerminal: (question: string) => Promise<string>;
  awaitLastQuery?: () => Promise<void>;
  detectEnvironmentGraphics: () => Promise<GraphicsSupport>;
  /** @throws UsageError if the editor fails */
  edit: (text: string) => Promise<string>;
  /** @returns false if the pager cannot be started */
  page: (text: string) => Promise<boolean>;
  /** Whether this process can draw on the terminal. False after `bg`, because the shell then uses the terminal. */
  isInForeground: () => boolean;
  /** `onStop` is called before Ctrl-Z suspends the program. The result removes the listeners. */
  onSuspend: (onStop: () => void, onResume: () => void) => () => void;
}
