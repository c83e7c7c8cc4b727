import type { Matrix } from "../../models/matrix.ts";
import type { ArgumentNode, Description, OptionNode } from "../help/command-tree.ts";
import { among, type Candidate, type CommandLine, NOTHING, type Offer } from "./typed-line.ts";

/** Sources of the values of flags and arguments. Each is read only if a value depends on it. */
export interface Sources {
  tree: Description;
  /** Tasks of the ledger, newest first. */
  findTasks: (which: "unfinished" | "all") => Promise<readonly Candidate[]>;
  /** The models of a profile, or of the settings without a name. */
  findModels: (profile: string | undefined) => Promise<Matrix>;
  findProfiles: () => Promise<readonly string[]>;
}

export function commandNames(commands: Description["command"]["commands"]): Candidate[] {
  return commands.map(({ name, summary }) => ({ value: name, description: summary }));
}

type Kind = Pick<OptionNode | ArgumentNode, "type" | "values"> & { commaSeparated?: boolean };

/** Values of a flag or an argument that begin with the typed text. */
export async function offerValues(
  kind: Kind,
  current: string,
  line: CommandLine,
  from: Sources,
): Promise<Offer> {
  if (!kind.commaSeparated) return singleValue(kind, current, line, from);
  const before = current.slice(0, current.lastIndexOf(",") + 1);
  const last = await singleValue(kind, current.slice(before.length), line, from);
  const unusedCandidates = last.candidates.filter(({ value }) => !before.split(",").includes(value));
  return { ...last, candidates: unusedCandidates.map((each) => ({ ...each, value: before + each.value })) };
}

async function singleValue(kind: Kind, current: string, line: CommandLine, from: Sources): Promise<Offer> {
  switch (kind.type) {
    case "path":
      return { paths: "files", candidates: [] };
    case "manifest":
      return { paths: "manifests", candidates: [] };
    case "folder":
      return { paths: "folders", candidates: [] };
    case "model":
      return modelsLike(current, await modelsFor(line, from));
    case "ratio":
    case "quality": {
      const allowed = await allowedBy(line, kind.type, from);
      return among((allowed ?? kind.values ?? []).map(plain), current);
    }
    case "profile":
      return among((await from.findProfiles()).map(plain), current);
    case "task":
      return tasksLike(current, line, from);
    case "command": {
      const commands = commandNames(from.tree.command.commands);
      const topics = (kind.values ?? []).filter((topic) => !commands.some(({ value }) => value === topic));
      return among([...commands, ...topics.map(plain)], current);
    }
    case "value":
      return settingValues(current, line, from);
    default:
      return among((kind.values ?? []).map(plain), current);
  }
}

/** Models by their whole ids; by the part after the slash only if no id begins so. */
async function modelsLike(current: string, matrix: Matrix): Promise<Offer> {
  const ids = matrix.map(({ id, kinds, notes }) => ({
    value: id,
    description: [...(kinds ? [kinds.join(", ")] : []), ...notes].join("; "),
  }));
  const whole = among(ids, current);
  if (whole.candidates.length > 0) return whole;
  const { shortModelNames } = await import("../../client/known-values.ts");
  const described = new Map(ids.map(({ value, description }) => [value, description]));
  const unique = shortModelNames(matrix).map(({ id, name }) => ({
    value: name,
    description: described.get(id) ?? "",
  }));
  return among(unique, current);
}

/** The ratios or qualities that one of these models supports; null if not known. */
async function allowedBy(line: CommandLine, field: "ratio" | "quality", from: Sources) {
  const { allowedByModels } = await import("../../client/known-values.ts");
  const names = (line.flags.get("--model") ?? []).flatMap((list) => list.split(","));
  return allowedByModels(names, field === "ratio" ? "ratios" : "qualities", await modelsFor(line, from));
}

/** The models of the profile that is given. */
function modelsFor({ flags }: CommandLine, { findModels }: Sources): Promise<Matrix> {
  return findModels(flags.get("--profile")?.at(-1));
}

const OF_UNFINISHED: ReadonlySet<string> = new Set(["resume", "cancel"]);

/** Ids of tasks: unfinished ones for `resume`; `rerun` takes an image too. */
async function tasksLike(
  current: string,
  { command, args }: CommandLine,
  { findTasks }: Sources,
): Promise<Offer> {
  const tasks = await findTasks(OF_UNFINISHED.has(command.name) ? "unfinished" : "all");
  const { candidates } = among(
    tasks.filter(({ value }) => !args.includes(value)),
    current,
  );
  return { paths: command.arguments[0]?.name.includes("file") ? "files" : "none", candidates };
}

/** A setting takes the values of the `generate` flag that it is the default of. */
async function settingValues(current: string, line: CommandLine, from: Sources): Promise<Offer> {
  const generate = from.tree.command.commands.find(({ name }) => name === "generate");
  const flag = generate?.options.find(({ long }) => long === `--${line.args[0]}`);
  return flag ? singleValue(flag, current, line, from) : NOTHING;
}

function plain(value: string): Candidate {
  return { value, description: "" };
}
