import path from "node:path";
import type { Session } from "./session.ts";

/** Where the sandbox keeps its accounts and tasks between runs. */
export function sandboxFolder(session: Pick<Session, "folders">): string {
  return path.join(session.folders.state, "sandbox");
}
