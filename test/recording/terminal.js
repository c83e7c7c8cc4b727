/** A character of the screen, with the style that it is shown in. */
const BLANK = { text: " ", style: "" };

const STYLES = { 2: "dim", 32: "green", 33: "yellow", 36: "cyan" };

/** A synchronised update, a line and a pressed Ctrl-C end one. */
const ENDS_FRAME = /^(?:\u001b\[\?2026l|\^C|\n)$/;

/**
 * A terminal of so many columns, as far as imggen and a shell use one: text, colours, and what a spinner needs to draw
 * over itself. Anything else is an error, so that a picture is never a guess.
 */
export class Terminal {
  #columns;
  #lines = [[]];
  #row = 0;
  #column = 0;
  #style = "";
  #rest = "";
  #isUpdating = false;
  #onFrame;

  /** @param onFrame called with the lines each time that a frame is whole */
  constructor(columns, onFrame) {
    this.#columns = columns;
    this.#onFrame = onFrame;
  }

  write(text) {
    const all = this.#rest + text;
    // A sequence may arrive in two parts.
    const cut = /\u001b(?:\[[?\d;]*)?$|\^$/.exec(all)?.index ?? all.length;
    this.#rest = all.slice(cut);
    for (const [token] of all.slice(0, cut).matchAll(/\u001b\[([?\d;]*)([A-Za-z])|\^C|[\s\S]/gu)) {
      if (token.startsWith("\u001b[")) this.#control(token.slice(2, -1), token.at(-1));
      else this.#print(token);
      if (token === "\u001b[?2026h") this.#isUpdating = true;
      if (token === "\u001b[?2026l") this.#isUpdating = false;
      if (ENDS_FRAME.test(token) && !this.#isUpdating) this.#onFrame(this.lines());
    }
  }

  /** The lines as lists of pieces, each in one style. */
  lines() {
    return this.#lines.map((line) => {
      const pieces = [];
      for (const { text, style } of line) {
        if (pieces.at(-1)?.style === style) pieces.at(-1).text += text;
        else pieces.push({ text, style });
      }
      return pieces;
    });
  }

  #control(numbers, kind) {
    if (numbers.startsWith("?")) return;
    const count = Number(numbers || 1);
    if (kind === "m") this.#style = STYLES[numbers] ?? "";
    else if (kind === "G") this.#column = count - 1;
    else if (kind === "A") this.#row -= count;
    else if (kind === "K")
      this.#lines[this.#row].length = Math.min(this.#column, this.#lines[this.#row].length);
    else throw new Error(`the recording knows no CSI ${numbers} ${kind}`);
  }

  #print(text) {
    if (text === "^C") {
      for (const each of text) this.#print(each);
    } else if (text === "\r") {
      this.#column = 0;
    } else if (text === "\n") {
      this.#down();
    } else {
      if (this.#column === this.#columns) {
        this.#column = 0;
        this.#down();
      }
      const line = this.#lines[this.#row];
      while (line.length < this.#column) line.push(BLANK);
      line[this.#column] = { text, style: this.#style };
      this.#column += 1;
    }
  }

  #down() {
    this.#row += 1;
    if (this.#row === this.#lines.length) this.#lines.push([]);
  }
}
