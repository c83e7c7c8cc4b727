import { isJsonObject } from "./json.ts";
import { shellWord } from "./shell-word.ts";

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

interface Actions {
  resume: [taskId?: string];
  dismiss: [ledgerId: string];
  rerun: [ledgerId: string, isSandbox: boolean];
  repeat: [];
  /** Repetition of the command or call, as the subject of a sentence: `running it again`. */
  repeated: [];
  models: [filter?: string];
  history: [];
  help: [topic: string];
  /** A command line without its first word `imggen`. */
  run: [line: string];
  setApiKey: [];
  setBaseUrl: [];
  trySandbox: [];
  reference: [];
}

/** Words of one interface for options and advice. A sentence that contains a null word is omitted. */
export interface Vocabulary {
  readonly options: Readonly<Record<OptionName, string | null>>;
  readonly actions: { readonly [Code in keyof Actions]: (...data: Actions[Code]) => string | null };
}

/** An option or advice, for which each interface has its own words. */
type InterfaceTerm = { option: OptionName } | { action: keyof Actions; data: readonly unknown[] };

export function option(name: OptionName): InterfaceTerm {
  return { option: name };
}

export function action<Code extends keyof Actions>(code: Code, ...data: Actions[Code]): InterfaceTerm {
  return { action: code, data };
}

function partText(part: InterfaceTerm, { options, actions }: Vocabulary): string | null {
  if ("option" in part) return options[part.option];
  const format: (...data: never[]) => string | null = actions[part.action];
  return format(...(part.data as never[]));
}

export interface Phrase {
  readonly texts: readonly string[];
  readonly parts: readonly Part[];
}

type Part = InterfaceTerm | Phrase | string | number;

/** A text, or sentences whose options and advice get the words of an interface when they are displayed. */
export type Wording = string | Phrase | readonly Wording[];

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
  if (typeof option === "string") return Object.hasOwn(COMMAND_VOCABULARY.options, option);
  if (typeof action !== "string") return isPhrase(part);
  const isKnown = Object.hasOwn(COMMAND_VOCABULARY.actions, action);
  return (
    isKnown && Array.isArray(data) && data.every((value) => ["string", "boolean"].includes(typeof value))
  );
}

export function phrase(texts: readonly string[], ...parts: readonly Part[]): Phrase {
  return { texts, parts };
}

export function formatWording(text: Wording, vocabulary: Vocabulary): string {
  if (typeof text === "string") return text;
  if ("texts" in text) return phraseText(text, vocabulary);
  return text
    .map((sentence) => formatWording(sentence, vocabulary))
    .filter((sentence) => sentence.trim() !== "")
    .map((sentence, index) => (index === 0 || sentence.startsWith("\n") ? sentence : ` ${sentence}`))
    .join("");
}

function phraseText({ texts, parts }: Phrase, vocabulary: Vocabulary): string {
  const values = parts.map((part) => {
    if (typeof part !== "object") return part;
    return "texts" in part ? phraseText(part, vocabulary) : partText(part, vocabulary);
  });
  if (values.includes(null)) return "";
  const text = texts.map((text, index) => `${text}${values[index] ?? ""}`).join("");
  const [first] = parts;
  // A flag is case-sensitive, so only advice is capitalised.
  const isAction = texts[0] === "" && typeof first === "object" && "action" in first;
  return isAction ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

export const COMMAND_VOCABULARY: Vocabulary = {
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
    setApiKey: () => "To store a key: imggen login (or set IMGGEN_API_KEY)",
    setBaseUrl: () =>
      "To set it: imggen login --base-url <url>\nTo find servers and keys on this machine: imggen setup",
    trySandbox: () => "add --sandbox",
    reference: () => "See imggen --help.",
  },
};

export function resumeCommand(taskId: string): string {
  return `imggen resume${argument(taskId)}`;
}

function argument(id: string): string {
  return id.startsWith("-") ? ` -- ${shellWord(id)}` : ` ${shellWord(id)}`;
}
