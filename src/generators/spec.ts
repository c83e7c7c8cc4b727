// The user's own generator as it is written on the command line, and everything else that is set about it.

/** Which generator: its kind, and where it is. */
export type GeneratorSpec = ServerSpec<"openai"> | ServerSpec<"sdapi"> | CommandSpec;

interface ServerSpec<Kind> {
  kind: Kind;
  /** The spec in its canonical spelling, without a user name or password: it identifies the generator in the ledger. */
  name: string;
  /** Its base, with `/v1` where the given URL had no path, without a slash at its end; a query is kept. */
  url: string;
}

interface CommandSpec {
  kind: "command";
  /** The command line as it was given. */
  name: string;
  /** The program and its arguments, with placeholders. */
  words: readonly string[];
}

/** How it is used. */
export interface GeneratorOptions {
  /** `--generator-model` */
  model: string | null;
  /** `--generator-side`: the longest side in pixels for 1K or no quality; 2K is twice, 4K four times as long. Default 1024. */
  sidePx: number;
  /** `--generator-size`: how a size is sent; null: as its kind does. */
  sizeForm: "WxH" | "width,height" | "aspect_ratio" | null;
  /** `--generator-concurrency`. Default 1. */
  concurrency: number;
  /** `--generator-timeout`. Default 600 000. */
  timeoutMs: number;
  /** `--generator-field` */
  fields: Readonly<Record<string, string | number | boolean>>;
  /** `--generator-header`, with the variables' values in place. */
  headers: Readonly<Record<string, string>>;
  /** By the kind and the address, unless `--generator-paid` or `--generator-free` says otherwise. */
  isPaid: boolean;
  key: string | null;
}
