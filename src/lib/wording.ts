import { isJsonObject } from "./json.ts";
import { shellWord } from "./shell-word.ts";

/** Options in messages, by their names in the package. */
export type OptionName =
  | "output"
  | "name"
  | "overwrite"
  | "again"
  | "maxCredits"
  | "noValidate"
  | "noWait"
  | "yes"
  | "retryFailed"
  | "shard"
  | "resubmitUnknown"
  | "sandbox"
  | "model"
  | "generator"
  | "generatorModel"
  | "generatorHeader"
  | "generatorPrice"
  | "checkImages"
  | "uploadCache"
  /** The folder of settings and ledger. */
  | "home";

/** Advice in messages, with its data. */
interface Actions {
  /** Finish a task, or all of them. */
  resume: [taskId?: string];
  /** Stop tracking a task. */
  dismiss: [ledgerId: string];
  /** Submit a task's request again. */
  rerun: [ledgerId: string, isSandbox: boolean];
  /** Repeat the command or call that failed. */
  repeat: [];
  /** A repeated command or call, as the subject of a sentence. */
  repeated: [];
  models: [filter?: string];
  history: [];
  help: [topic: string];
  /** A command for the user to run, without its first word `imggen`. */
  run: [line: string];
  setApiKey: [];
  setBaseUrl: [];
  /** Use the sandbox in place of an account. */
  trySandbox: [];
  /** The description of all options, as a sentence. */
  reference: [];
}

/** The terms of one face for options and actions; null: the face has none, and the sentence is omitted. */
export interface Words {
  readonly options: Readonly<Record<OptionName, string | null>>;
  readonly actions: { readonly [Code in keyof Actions]: (...data: Actions[Code]) => string | null };
}

/** A term that each face has its own words for. */
type FaceTerm = { option: OptionName } | { action: keyof Actions; data: readonly unknown[] };

export function option(name: OptionName): FaceTerm {
  return { option: name };
}

export function action<Code extends keyof Actions>(code: Code, ...data: Actions[Code]): FaceTerm {
  return { action: code, data };
}

function partText(part: FaceTerm, { options, actions }: Words): string | null {
  if ("option" in part) return options[part.option];
  const say: (...data: never[]) => string | null = actions[part.action];
  return say(...(part.data as never[]));
}

/** A sentence with options and actions in it. */
export interface Phrase {
  readonly texts: readonly string[];
  readonly parts: readonly Part[];
}

type Part = FaceTerm | Phrase | string | number;

/** A text, or sentences that name options and actions in terms chosen at display. */
export type Wording = string | Phrase | readonly Wording[];

/** Whether a stored value is a wording that every face can show. */
export function isWording(value: unknown): value is Wording {
  if (Array.isArray(value)) return value.every(isWording);
  return typeof value === "string" || isPhrase(value);
}

function isPhrase(value: unknown): boolean {
  if (!isJsonObject(value) || !Array.isArray(value.texts) || !Array.isArray(value.parts)) return false;
  return value.texts.every((text) => typeof text === "string") && value.parts.every(isPart);
}

function isPart(part: unknown): boolean {
  if (!isJsonObject(part)) return typeof part === "string" || typeof part === "number";
  const { option, action, data } = part;
  if (typeof option === "string") return Object.hasOwn(COMMAND_WORDS.options, option);
  if (typeof action !== "string") return isPhrase(part);
  const isKnown = Object.hasOwn(COMMAND_WORDS.actions, action);
  return isKnown && Array.isArray(data) && data.every((each) => ["string", "boolean"].includes(typeof each));
}

/** A sentence as a template whose values may be options and actions. */
export function phrase(texts: readonly string[], ...parts: readonly Part[]): Phrase {
  return { texts, parts };
}

/** A message in the terms of a face, without sentences that the face has no words for. */
export function worded(text: Wording, words: Words): string {
  if (typeof text === "string") return text;
  if ("texts" in text) return phraseText(text, words);
  return text
    .map((each) => worded(each, words))
    .filter((sentence) => sentence.trim() !== "")
    .map((sentence, at) => (at === 0 || sentence.startsWith("\n") ? sentence : ` ${sentence}`))
    .join("");
}

function phraseText({ texts, parts }: Phrase, words: Words): string {
  const values = parts.map((part) => {
    if (typeof part !== "object") return part;
    return "texts" in part ? phraseText(part, words) : partText(part, words);
  });
  if (values.includes(null)) return "";
  const text = texts.map((each, at) => `${each}${values[at] ?? ""}`).join("");
  const [first] = parts;
  // An option keeps its case.
  const isAction = texts[0] === "" && typeof first === "object" && "action" in first;
  return isAction ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** The terms of the command line, used by `message` and `hint` of an error. */
export const COMMAND_WORDS: Words = {
  options: {
    output: "--output",
    name: "--name",
    overwrite: "--overwrite",
    again: "--again",
    maxCredits: "--max-credits",
    noValidate: "--no-validate",
    noWait: "--no-wait",
    yes: "--yes",
    retryFailed: "--retry-failed",
    shard: "--shard",
    resubmitUnknown: "--resubmit-unknown",
    sandbox: "--sandbox",
    model: "--model",
    generator: "--generator",
    generatorModel: "--generator-model",
    generatorHeader: "--generator-header",
    generatorPrice: "--generator-price",
    checkImages: "--check-images",
    uploadCache: "--no-upload-cache",
    home: "IMGGEN_HOME",
  },
  actions: {
    resume: (id) => (id === undefined ? "imggen resume" : resumeCommand(id)),
    dismiss: (id) => `imggen resume${argument(id)} --dismiss`,
    rerun: (id, isSandbox) => `imggen rerun${argument(id)}${isSandbox ? " --sandbox" : ""}`,
    repeat: () => "run the same command again",
    repeated: () => "running it again",
    models: (filter) => `imggen models${filter === undefined ? "" : ` ${filter}`}`,
    history: () => "imggen history",
    help: (topic) => `imggen help ${topic}`,
    run: (line) => `imggen ${line}`,
    setApiKey: () => "To store one (or set IMGGEN_API_KEY): imggen login",
    setBaseUrl: () =>
      "To set it: imggen login --base-url <url>\nTo find servers and keys on this machine: imggen setup",
    trySandbox: () => "add --sandbox",
    reference: () => "See imggen --help.",
  },
};

/** The command that continues a task, quoted for a shell. */
export function resumeCommand(taskId: string): string {
  return `imggen resume${argument(taskId)}`;
}

/** An id as the first argument, even if it begins with a hyphen. */
function argument(id: string): string {
  return id.startsWith("-") ? ` -- ${shellWord(id)}` : ` ${shellWord(id)}`;
}
