import type { Matrix } from "../../models/matrix.ts";
import type { ArgumentNode, Description, OptionNode } from "../help/command-tree.ts";
import {
  type Candidate,
  type CommandLine,
  type Completions,
  filterCandidates,
  NO_COMPLETIONS,
} from "./typed-line.ts";

/** A source is read only if its candidates are needed. */
export interface CompletionSources {
  tree: Description;
  findTasks: (which: "unfinished" | "all") => Promise<readonly Candidate[]>;
  /** Returns the models of a profile; undefined stands for the default settings. */
  findModels: (profile: string | undefined) => Promise<Matrix>;
  findProfiles: () => Promise<readonly string[]>;
}

export function commandNames(commands: Description["command"]["commands"]): Candidate[] {
  return commands.map(({ name, summary }) => ({ value: name, description: summary }));
}

type ValueDescription = Pick<OptionNode | ArgumentNode, "type" | "values"> & { commaSeparated?: boolean };

export async function completeValue(
  spec: ValueDescription,
  current: string,
  line: CommandLine,
  sources: CompletionSources,
): Promise<Completions> {
  if (!spec.commaSeparated) return completeSingleValue(spec, current, line, sources);
  const previousValues = current.slice(0, current.lastIndexOf(",") + 1);
  const last = await completeSingleValue(spec, current.slice(previousValues.length), line, sources);
  const unusedCandidates = last.candidates.filter(({ value }) => !previousValues.split(",").includes(value));
  return {
    ...last,
    candidates: unusedCandidates.map((each) => ({ ...each, value: previousValues + each.value })),
  };
}

async function completeSingleValue(
  spec: ValueDescription,
  current: string,
  line: CommandLine,
  sources: CompletionSources,
): Promise<Completions> {
  switch (spec.type) {
    case "path":
      return { paths: "files", candidates: [] };
    case "manifest":
      return { paths: "manifests", candidates: [] };
    case "folder":
      return { paths: "folders", candidates: [] };
    case "model":
      return completeModel(current, await findModelsOfLine(line, sources));
    case "ratio":
    case "quality": {
      const allowed = await findAllowedValues(line, spec.type, sources);
      return filterCandidates((allowed ?? spec.values ?? []).map(toCandidate), current);
    }
    case "profile":
      return filterCandidates((await sources.findProfiles()).map(toCandidate), current);
    case "task":
      return completeTaskId(current, line, sources);
    case "command": {
      const commands = commandNames(sources.tree.command.commands);
      const topics = (spec.values ?? []).filter((topic) => !commands.some(({ value }) => value === topic));
      return filterCandidates([...commands, ...topics.map(toCandidate)], current);
    }
    case "value":
      return completeSettingValue(current, line, sources);
    default:
      return filterCandidates((spec.values ?? []).map(toCandidate), current);
  }
}

/** Completes a model by its id, or by the part after the slash if no id matches. */
async function completeModel(current: string, matrix: Matrix): Promise<Completions> {
  const ids = matrix.map(({ id, kinds, notes }) => ({
    value: id,
    description: [...(kinds ? [kinds.join(", ")] : []), ...notes].join("; "),
  }));
  const byId = filterCandidates(ids, current);
  if (byId.candidates.length > 0) return byId;
  const { shortModelNames } = await import("../../client/known-values.ts");
  const described = new Map(ids.map(({ value, description }) => [value, description]));
  const unique = shortModelNames(matrix).map(({ id, name }) => ({
    value: name,
    description: described.get(id) ?? "",
  }));
  return filterCandidates(unique, current);
}

async function findAllowedValues(line: CommandLine, field: "ratio" | "quality", sources: CompletionSources) {
  const { allowedByModels } = await import("../../client/known-values.ts");
  const names = (line.flags.get("--model") ?? []).flatMap((list) => list.split(","));
  return allowedByModels(
    names,
    field === "ratio" ? "ratios" : "qualities",
    await findModelsOfLine(line, sources),
  );
}

function findModelsOfLine({ flags }: CommandLine, { findModels }: CompletionSources): Promise<Matrix> {
  return findModels(flags.get("--profile")?.at(-1));
}

const UNFINISHED_TASK_COMMANDS: ReadonlySet<string> = new Set(["resume", "cancel"]);

/** Completes a task id. `resume` and `cancel` support only unfinished tasks, and some commands also accept files. */
async function completeTaskId(
  current: string,
  { command, args }: CommandLine,
  { findTasks }: CompletionSources,
): Promise<Completions> {
  const tasks = await findTasks(UNFINISHED_TASK_COMMANDS.has(command.name) ? "unfinished" : "all");
  const { candidates } = filterCandidates(
    tasks.filter(({ value }) => !args.includes(value)),
    current,
  );
  return { paths: command.arguments[0]?.name.includes("file") ? "files" : "none", candidates };
}

/** Completes the value of a setting in the same way as the value of the `generate` flag with the same name. */
async function completeSettingValue(
  current: string,
  line: CommandLine,
  sources: CompletionSources,
): Promise<Completions> {
  const generate = sources.tree.command.commands.find(({ name }) => name === "generate");
  const flag = generate?.options.find(({ long }) => long === `--${line.args[0]}`);
  return flag ? completeSingleValue(flag, current, line, sources) : NO_COMPLETIONS;
}

function toCandidate(value: string): Candidate {
  return { value, description: "" };
}
