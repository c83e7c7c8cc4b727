import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { BIN } from "./program.ts";

/** A picture that was drawn: by Kitty's protocol with its id, or by iTerm2's. */
export interface DrawnPicture {
  protocol: "kitty" | "iterm2";
  id: string | null;
  row: number;
  height: number;
  /** The file, in base64. */
  data: string;
}

/** One thing that is written to a terminal: Kitty's graphics, iTerm2's pictures, another sequence, or a character. */
const PIECE =
  /\u001b_G(?<kitty>[^;\u001b]*)(?:;(?<payload>[^\u001b]*))?\u001b\\|\u001b\]1337;File=(?<iterm>[^:]*):(?<file>[^\u0007]*)\u0007|\u001b\[(?<args>[?>\d;]*)(?<end>[@-~])|\u001b[\]P][^\u0007\u001b]*(?:\u0007|\u001b\\)|(?<character>[^\u001b])/gsu;

/** What a terminal shows that has been sent a text: its lines, and the pictures on it. */
export class PictureTerminal {
  readonly lines: string[] = [""];
  pictures: DrawnPicture[] = [];
  /** Every picture that there ever was. */
  readonly drawn: DrawnPicture[] = [];
  /** The most that there were at once. */
  mostAtOnce = 0;
  #row = 0;
  #column = 0;

  /** @param sent whole sequences */
  constructor(sent: string) {
    for (const { groups = {} } of sent.matchAll(PIECE)) this.#take(groups);
  }

  #take({
    kitty,
    payload = "",
    iterm,
    file = "",
    args = "",
    end,
    character,
  }: Record<string, string | undefined>) {
    if (kitty !== undefined) this.#takeKitty(kitty, payload);
    else if (iterm !== undefined) this.#draw("iterm2", null, Number(/height=(\d+)/.exec(iterm)?.[1]), file);
    else if (end !== undefined) this.#control(end, Number(args || (end === "J" || end === "K" ? 0 : 1)));
    else if (character === "\n") this.#goTo(this.#row + 1);
    else if (character === "\r") this.#column = 0;
    else if (character !== undefined) {
      const line = (this.lines[this.#row] ?? "").padEnd(this.#column);
      this.lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
      this.#column += 1;
    }
  }

  #takeKitty(control: string, payload: string) {
    const keys = new Map(control.split(",").map((pair) => pair.split("=") as [string, string]));
    if (keys.get("a") === "d") this.pictures = this.pictures.filter(({ id }) => id !== keys.get("i"));
    else if (keys.get("a") === "T")
      this.#draw("kitty", keys.get("i") ?? null, Number(keys.get("r")), payload);
    else {
      const last = this.drawn.at(-1);
      if (last) last.data += payload;
    }
  }

  #draw(protocol: DrawnPicture["protocol"], id: string | null, height: number, data: string) {
    const placed = { protocol, id, height, data, row: this.#row };
    this.pictures.push(placed);
    this.drawn.push(placed);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.pictures.length);
    this.#goTo(this.#row + height - 1);
  }

  #control(end: string, count: number) {
    if (end === "A") this.#row = Math.max(0, this.#row - count);
    else if (end === "G") this.#column = count - 1;
    else if (end === "K") this.lines[this.#row] = "";
    else if (end === "J") {
      this.lines.splice(this.#row, Number.POSITIVE_INFINITY, "");
      // Kitty keeps its pictures until they are removed by their ids.
      this.pictures = this.pictures.filter(({ protocol, row }) => protocol === "kitty" || row < this.#row);
    }
  }

  #goTo(row: number) {
    while (this.lines.length <= row) this.lines.push("");
    this.#row = row;
  }
}

/** Cells of 10 by 20 pixels, and nothing special. */
const ANSWER = "\u001b[6;20;10t\u001b[?62;c";

/** Runs `imggen` on a pseudo terminal that answers its questions, and says nothing of what it can show. */
export function recorded(args: readonly string[], cwd: string, env: Record<string, string>) {
  const words = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qefc", `stty rows 40 cols 100; exec ${words}`, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH, TERM: "xterm-256color", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  let isAnswered = false;
  let onData = () => {};
  child.stdout.on("data", (bytes: Buffer) => {
    text += bytes;
    if (!isAnswered && text.includes("\u001b[c")) {
      isAnswered = true;
      child.stdin.write(ANSWER);
    }
    onData();
  });
  const closed = once(child, "close");
  const screen = () => new PictureTerminal(text);
  return {
    /** What it shows now. */
    screen,
    sent: () => text,
    /** Types at it. */
    type: (keys: string) => void child.stdin.write(keys),
    /** Waits until it shows that. */
    until: (what: (screen: PictureTerminal) => boolean) =>
      new Promise<PictureTerminal>((resolve, reject) => {
        const check = () => {
          const now = screen();
          if (what(now)) resolve(now);
        };
        onData = check;
        closed.then(() => reject(new Error(`It ended with:\n${screen().lines.join("\n")}`)));
        check();
      }),
    /** Waits for the program's end. @returns its exit code */
    end: async (): Promise<number | null> => (await closed)[0],
  };
}
