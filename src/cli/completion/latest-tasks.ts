import { foldersOf } from "../../client/folders.ts";
import { openLedger } from "../../client/session.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Context } from "../session/context.ts";
import type { Candidate } from "./command-line.ts";

/** The most task ids that are offered: about a screen of them. Each is a file to read. */
const MOST_TASKS = 30;
const MOST_PROMPT_CHARACTERS = 40;

/** The latest tasks of the ledger, newest first. */
export async function latestTasks(which: "unfinished" | "all", context: Context): Promise<Candidate[]> {
  const ledger = openLedger({ folders: foldersOf(context), context });
  const found: Candidate[] = [];
  const entries = which === "all" ? ledger.newestFirst() : (await ledger.unfinished()).reverse();
  for await (const entry of entries) {
    if (entry.kind === "task") found.push(candidateOf(entry.record));
    if (found.length >= MOST_TASKS) break;
  }
  return found;
}

function candidateOf({ id, state, intent }: TaskRecord): Candidate {
  const { prompt } = intent.request;
  const short =
    prompt.length > MOST_PROMPT_CHARACTERS ? `${prompt.slice(0, MOST_PROMPT_CHARACTERS)}…` : prompt;
  return { value: "taskId" in state ? state.taskId : id, description: short };
}
