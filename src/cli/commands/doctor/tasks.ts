import { openLedger } from "../../../client/open-ledger.ts";
import { mayBeTask } from "../../../core/task/unreadable.ts";
import { tasksToResume } from "../../../core/use-cases/resume.ts";
import { isUnknown, mayBeCharged } from "../../../task/record.ts";
import { type CheckResult, type CheckSpec, ok, warning } from "./check.ts";
import { knownFolders } from "./settings.ts";

/** What the ledger has left to do. */
export async function checkTasks({ session }: CheckSpec): Promise<CheckResult> {
  const { clock, processes } = session.context;
  const isSandbox = session.options.sandbox === true;
  const ledger = openLedger({ folders: knownFolders(session), clock, processes });
  const { targets, unreadable } = await tasksToResume([], isSandbox, ledger);
  const records = targets.flatMap(({ record }) => (record !== null && mayBeCharged(record) ? record : []));
  const left = records.filter((record) => !ledger.isClaimed(record));
  const unknown = left.filter(isUnknown).length;
  const facts = {
    inProgress: records.length - left.length,
    unfinished: left.length - unknown,
    unknown,
    unreadable: unreadable.filter(mayBeTask).length,
  };
  const found = messages(facts);
  if (found.length === 0)
    return ok(facts.inProgress === 0 ? "none unfinished" : `${facts.inProgress} in progress`, facts);
  const resume = `imggen resume${isSandbox ? " --sandbox" : ""}`;
  const isAllCharged = facts.unfinished > 0 && found.length === 1;
  return warning(
    found.join(" "),
    isAllCharged ? `To finish them: ${resume}` : `To see what to do about each: ${resume}`,
    facts,
  );
}

interface Counts {
  inProgress: number;
  unfinished: number;
  unknown: number;
  unreadable: number;
}

/** A sentence for each kind of thing that is left to do. */
function messages({ unfinished, unknown, unreadable }: Counts): string[] {
  return [
    unfinished > 0 && `${counted(unfinished, "task is", "tasks are")} charged and not saved.`,
    unknown > 0 && `The outcome of ${counted(unknown, "request", "requests")} is unknown.`,
    unreadable > 0 && `${counted(unreadable, "file", "files")} of the ledger cannot be read.`,
  ].filter((message) => message !== false);
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}
