import type { Command } from "commander";
import type { Session } from "./session.ts";

/** What a command's file offers: it adds its own flags, and says what to run. */
export interface CommandModule {
  register(command: Command, runWith: RunWith): void;
}

/** Wraps a command's run function: hands it a session, and keeps the exit code it returns. */
export type RunWith = <Arguments extends unknown[]>(
  run: (session: Session, ...args: Arguments) => Promise<number>,
) => (...args: Arguments) => Promise<void>;
