import type { Environment } from "../../client/this-process.ts";
import { escapeControls, escapeJson } from "../../lib/escape.ts";
import { InterruptedError } from "../../lib/interrupted.ts";
import { inColor, labelPaint, type Paint, PLAIN, type TextStyle, takesColors } from "./colors.ts";
import { fold, foldQuestion, type UnfoldedLine } from "./fit.ts";
import {
  isClosedPipe,
  OutputError,
  type OutputStream,
  unreadError,
  writeTo,
  writeToReader,
} from "./output-stream.ts";

/** Line breaks within a line are escaped. */
export type Text = string | readonly string[];

export type Message = string | readonly (string | UnfoldedLine)[];

interface PathField {
  path: string;
}

interface Streams {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  env: Environment;
  signal: AbortSignal;
}

/**
 * Writes results to standard output, and everything else to standard error. A closed pipe is not an error.
 * All characters that could control a terminal are escaped, so callers pass unescaped text.
 */
export class Console {
  readonly #streams: Streams;
  readonly #warned = new Set<string>();
  readonly #color: boolean;
  #hasResult = false;
  readonly #pendingReplies = new Set<string>();
  #isFinished = false;
  readonly quiet: boolean;
  /** Whether a program reads standard error, so that every line must be a JSON document. */
  readonly events: boolean;
  /** Called before each write, to remove a spinner from the terminal. */
  beforeWrite: () => void = () => {};
  afterWrite: () => void = () => {};

  constructor(streams: Streams, options: { quiet: boolean; color: boolean; events?: boolean }) {
    this.#streams = streams;
    this.quiet = options.quiet;
    this.#color = options.color;
    this.events = options.events === true;
  }

  style(stream: "stdout" | "stderr"): TextStyle {
    return this.takesColors(stream) ? inColor : PLAIN;
  }

  takesColors(stream: "stdout" | "stderr"): boolean {
    return this.#color && takesColors(this.#streams[stream], this.#streams.env);
  }

  get hasResult(): boolean {
    return this.#hasResult;
  }

  /** Ids of the paid tasks that were in flight when a signal came, for the message after a second signal. */
  get pendingReplies(): readonly string[] {
    return [...this.#pendingReplies];
  }

  addPendingReply(taskId: string | null): void {
    if (taskId !== null) this.#pendingReplies.add(taskId);
  }

  /** Writes the last result before the process ends. Later results are dropped, and a second call does nothing. */
  async finish(write: (last: Console) => Promise<unknown>): Promise<void> {
    if (this.#isFinished) return;
    const last = new Console(this.#streams, { quiet: this.quiet, color: this.#color, events: this.events });
    const lastWrite = write(last);
    this.#isFinished = true;
    await lastWrite;
  }

  /** @throws OutputError if the write fails, but not for a closed pipe */
  async result(text: Text, paint?: Paint): Promise<void> {
    await this.#result(escaped(text, paint));
  }

  /**
   * Writes fields on one line, two spaces apart. Programs need the exact path, so it is escaped only on a terminal.
   * @throws OutputError
   */
  async resultLine(...fields: readonly (string | PathField)[]): Promise<void> {
    const isTerminal = this.#streams.stdout.isTTY === true;
    const texts = fields.map((field) => {
      if (typeof field === "string") return escapeControls(field);
      return isTerminal ? escapeControls(field.path) : field.path;
    });
    await this.#result(texts.join("  "));
  }

  /** @throws OutputError */
  async json(value: unknown): Promise<void> {
    await this.message(value);
  }

  /** @throws OutputError, and the errors of `items` */
  async jsonList(items: AsyncIterable<unknown>): Promise<void> {
    let [text, separator] = ["[", ""];
    for await (const item of items) {
      text += separator + escapeJson(JSON.stringify(item));
      separator = ",";
      if (text.length < LIST_CHUNK) continue;
      if (!(await this.#result(text, ""))) return;
      text = "";
    }
    await this.#result(`${text}]`);
  }

  /** Writes one of several JSON documents. @returns false if the pipe is closed @throws OutputError */
  async message(value: unknown): Promise<boolean> {
    return this.#result(escapeJson(JSON.stringify(value)));
  }

  /** @returns false if the pipe is closed @throws OutputError */
  async #result(safe: string, end = "\n"): Promise<boolean> {
    if (this.#isFinished) return true;
    this.#hasResult = true;
    const error = await this.#write("stdout", safe + end);
    if (error instanceof InterruptedError) throw unreadError(error);
    if (error && !isClosedPipe(error)) throw new OutputError(error);
    return error === null;
  }

  /** @throws the stream's error, also for a closed pipe */
  async imageBytes(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    this.beforeWrite();
    for await (const chunk of bytes) {
      const error = await writeToReader(this.#streams.stdout, chunk, this.#streams.signal);
      if (error) throw error;
    }
  }

  /** @param sequences escape sequences of a graphics protocol */
  async picture(sequences: string, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    await this.#write(stream, sequences);
  }

  async question(text: string): Promise<void> {
    const { stderr } = this.#streams;
    this.beforeWrite();
    await writeTo(stderr, foldQuestion(escapeControls(text), stderr));
  }

  /** Ends the line of a question that was not answered, so that the next message begins on a new line. */
  async endQuestion(): Promise<void> {
    await writeTo(this.#streams.stderr, "\n");
  }

  clearAbove(rows: number): void {
    if (rows > 0) void writeTo(this.#streams.stderr, UP_AND_CLEAR.repeat(rows));
  }

  async note(text: Message, paint?: (style: TextStyle) => Paint): Promise<void> {
    if (this.quiet) return;
    if (this.events) await this.event(messageEvent("note", text));
    else await this.error(text, paint);
  }

  /** Writes a warning once, even if called again with the same message. */
  async warn(message: string): Promise<void> {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    await this.note(`warning: ${message}`);
  }

  /** Writes an event as a line of JSON, even if `--quiet` is set. */
  async event(value: object): Promise<void> {
    const line = escapeJson(JSON.stringify(value));
    await this.#write("stderr", `${line}\n`);
  }

  /** Writes a message even if `--quiet` is set. @param paint colours the lines. Default: only labels */
  async error(text: Message, paint: (style: TextStyle) => Paint = labelPaint): Promise<void> {
    if (this.events) return this.event(messageEvent("error", text));
    const { stderr } = this.#streams;
    const lines = messageLines(text).flatMap((line) =>
      typeof line === "string" ? fold(escapeControls(line), stderr) : escapeControls(line.text),
    );
    await this.#write("stderr", `${lines.map(paint(this.style("stderr"))).join("\n")}\n`);
  }

  /** Starts the write synchronously, so that the text is visible before the caller continues. */
  async #write(stream: "stdout" | "stderr", text: string): Promise<Error | null> {
    this.beforeWrite();
    const error = await writeToReader(this.#streams[stream], text, this.#streams.signal);
    this.afterWrite();
    return error;
  }
}

const LIST_CHUNK = 65_536;

function messageEvent(defaultType: "note" | "error", text: Message): object {
  const fullText = messageLines(text).map(lineText).join("\n");
  const [, type = defaultType, message] = /^(?:(error|warning): )?(.*)$/s.exec(fullText) ?? [];
  return { type, message };
}

const UP_AND_CLEAR = "\u001b[1A\u001b[2K";

function messageLines(text: Message): readonly (string | UnfoldedLine)[] {
  return typeof text === "string" ? [text] : text;
}

function lineText(line: string | UnfoldedLine): string {
  return typeof line === "string" ? line : line.text;
}

/** Escapes a text before colouring it, so that the output has no escape sequences except colours. */
function escaped(text: Text, paint: Paint = (line) => line): string {
  const lines = typeof text === "string" ? [text] : text;
  return lines.map((line, at) => paint(escapeControls(line), at)).join("\n");
}
