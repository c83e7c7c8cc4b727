import { shortened } from "../../lib/short-text.ts";
import { type Task, taskIdOf, wordOf } from "../../task/task.ts";
import type { Candidate } from "./typed-line.ts";

const MOST_PROMPT_CHARACTERS = 40;

/** A task as a shell offers it: by its id, with where it stands and what it was asked for. */
export function candidateOf(record: Task): Candidate {
  const { id, intent } = record;
  const short = shortened(intent.request.prompt, MOST_PROMPT_CHARACTERS);
  const word = wordOf(record);
  const description = word === null ? short : `${word}: ${short}`;
  return { value: taskIdOf(record) ?? id, description };
}
