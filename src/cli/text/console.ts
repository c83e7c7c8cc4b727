import type { Environment } from "../../client/this-process.ts";
import { escapeControls, escapeJson } from "../../lib/escape.ts";
import { InterruptedError } from "../../lib/interrupted.ts";
import { inColor, labelPaint, type Paint, PLAIN, type TextStyle, takesColors } from "./colors.ts";
import { fold, foldQuestion, type WholeLine } from "./fit.ts";
import {
  isClosedPipe,
  OutputError,
  type OutputStream,
  unreadError,
  writeTo,
  writeToReader,
} from "./output-stream.ts";

/** A line, or several: only what separates them ends a line, never anything inside one. */
export type Text = string | readonly string[];

/** Text that is wrapped at words if the terminal is too narrow. */
export type Message = string | readonly (string | WholeLine)[];

/** A field of a result line that a script uses unchanged. */
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
 * The two streams and what belongs on each: results on standard output, everything else on standard error.
 * A closed pipe is not an error; a full disk behind a redirection is.
 *
 * Callers pass plain text from any source: characters that would control a terminal are escaped here, and nowhere
 * else.
 */
export class Console {
  readonly #streams: Streams;
  readonly #warned = new Set<string>();
  readonly #color: boolean;
  #hasAnswered = false;
  readonly #awaited = new Set<string>();
  /** Whether `finish` has begun to write the last result, on another console. */
  #isFinished = false;
  readonly quiet: boolean;
  /** Whether standard error is for a program: every line on it is a JSON document. */
  readonly events: boolean;
  /** Runs before each write, to take a spinner off the line. */
  beforeWrite: () => void = () => {};
  afterWrite: () => void = () => {};

  /** @param options.color false if the user wants none, whatever the streams take */
  constructor(streams: Streams, options: { quiet: boolean; color: boolean; events?: boolean }) {
    this.#streams = streams;
    this.quiet = options.quiet;
    this.#color = options.color;
    this.events = options.events === true;
  }

  /** The style for the text of a stream. */
  style(stream: "stdout" | "stderr"): TextStyle {
    return this.takesColors(stream) ? inColor : PLAIN;
  }

  takesColors(stream: "stdout" | "stderr"): boolean {
    return this.#color && takesColors(this.#streams[stream], this.#streams.env);
  }

  /** Whether a result has been written to standard output, or is being written. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Tasks whose replies were on their way when a signal came. The message for a second signal names them. */
  get awaited(): readonly string[] {
    return [...this.#awaited];
  }

  noteAwaited(taskId: string | null): void {
    if (taskId !== null) this.#awaited.add(taskId);
  }

  /**
   * Writes the last result, for when the process is about to end; every later result is dropped. Does nothing after the
   * first time.
   * @param write begins its write at once, or writes to the console that it gets
   */
  async finish(write: (last: Console) => Promise<unknown>): Promise<void> {
    if (this.#isFinished) return;
    const last = new Console(this.#streams, { quiet: this.quiet, color: this.#color, events: this.events });
    const lastWrite = write(last);
    this.#isFinished = true;
    await lastWrite;
  }

  /** The result as text. @throws OutputError if the stream failed, but not if its reader has left */
  async result(text: Text, paint?: Paint): Promise<void> {
    await this.#result(escaped(text, paint));
  }

  /**
   * One line of the result, its fields two spaces apart. A path is written unchanged for a script, and
   * escaped on a terminal. @throws OutputError as `result` does
   */
  async resultLine(...fields: readonly (string | PathField)[]): Promise<void> {
    const isForPeople = this.#streams.stdout.isTTY === true;
    const texts = fields.map((field) => {
      if (typeof field === "string") return escapeControls(field);
      return isForPeople ? escapeControls(field.path) : field.path;
    });
    await this.#result(texts.join("  "));
  }

  /** A JSON document on one line, harmless on a terminal: it parses to the very same value. @throws OutputError */
  async json(value: unknown): Promise<void> {
    await this.message(value);
  }

  /** One JSON document, a list whose items are written as they come. @throws OutputError, and what `items` throws */
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

  /** One of many JSON documents. @returns false if the reader is gone @throws OutputError */
  async message(value: unknown): Promise<boolean> {
    return this.#result(escapeJson(JSON.stringify(value)));
  }

  /** @returns false if its reader is gone @throws OutputError */
  async #result(safe: string, end = "\n"): Promise<boolean> {
    if (this.#isFinished) return true;
    this.#hasAnswered = true;
    const error = await this.#write("stdout", safe + end);
    if (error instanceof InterruptedError) throw unreadError(error);
    if (error && !isClosedPipe(error)) throw new OutputError(error);
    return error === null;
  }

  /** Raw bytes of an image: here a reader that has left is a failure too. @throws the stream's error */
  async imageBytes(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    this.beforeWrite();
    for await (const chunk of bytes) {
      const error = await writeToReader(this.#streams.stdout, chunk, this.#streams.signal);
      if (error) throw error;
    }
  }

  /** A picture in the terminal, as the escape sequences that were made for it. */
  async picture(sequences: string, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    await this.#write(stream, sequences);
  }

  /** Prints a question; the answer is typed on the same line. */
  async question(text: string): Promise<void> {
    const { stderr } = this.#streams;
    this.beforeWrite();
    await writeTo(stderr, foldQuestion(escapeControls(text), stderr));
  }

  /** Ends the line of a question that was left without an answer: the next message would take its place. */
  async endQuestion(): Promise<void> {
    await writeTo(this.#streams.stderr, "\n");
  }

  /** Clears so many rows of the terminal, from the one above the cursor upwards. */
  clearAbove(rows: number): void {
    if (rows > 0) void writeTo(this.#streams.stderr, UP_AND_CLEAR.repeat(rows));
  }

  /** A message on standard error; not under `--quiet`. */
  async note(text: Message, paint?: (style: TextStyle) => Paint): Promise<void> {
    if (this.quiet) return;
    if (this.events) await this.event(messageEvent("note", text));
    else await this.error(text, paint);
  }

  /** A warning, once however often it is given; not under `--quiet`. */
  async warn(message: string): Promise<void> {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    await this.note(`warning: ${message}`);
  }

  /** A JSON document on a line of standard error, also under `--quiet`: the user has asked for it. */
  async event(value: object): Promise<void> {
    const line = escapeJson(JSON.stringify(value));
    await this.#write("stderr", `${line}\n`);
  }

  /** A message that `--quiet` shows too. @param paint colours its lines; by default their labels */
  async error(text: Message, paint: (style: TextStyle) => Paint = labelPaint): Promise<void> {
    if (this.events) return this.event(messageEvent("error", text));
    const { stderr } = this.#streams;
    const lines = messageLines(text).flatMap((line) =>
      typeof line === "string" ? fold(escapeControls(line), stderr) : escapeControls(line.whole),
    );
    await this.#write("stderr", `${lines.map(paint(this.style("stderr"))).join("\n")}\n`);
  }

  /** Begins to write at once, so that the text is out before the next step. */
  async #write(stream: "stdout" | "stderr", text: string): Promise<Error | null> {
    this.beforeWrite();
    const error = await writeToReader(this.#streams[stream], text, this.#streams.signal);
    this.afterWrite();
    return error;
  }
}

/** Characters of a list that are written at a time. */
const LIST_CHUNK = 65_536;

/** The prefix of a message (`error:`, `warning:`) becomes its type. */
function messageEvent(usual: "note" | "error", text: Message): object {
  const whole = messageLines(text).map(lineText).join("\n");
  const [, type = usual, message] = /^(?:(error|warning): )?(.*)$/s.exec(whole) ?? [];
  return { type, message };
}

const UP_AND_CLEAR = "\u001b[1A\u001b[2K";

function messageLines(text: Message): readonly (string | WholeLine)[] {
  return typeof text === "string" ? [text] : text;
}

function lineText(line: string | WholeLine): string {
  return typeof line === "string" ? line : line.whole;
}

/** Text for a terminal. Colours are put on last, so that they are the only escape sequences in it. */
function escaped(text: Text, paint: Paint = (line) => line): string {
  const lines = typeof text === "string" ? [text] : text;
  return lines.map((line, at) => paint(escapeControls(line), at)).join("\n");
}
