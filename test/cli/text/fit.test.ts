import { describe, expect, it } from "vitest";
import { Console } from "../../../src/cli/text/console.ts";
import { fold } from "../../../src/cli/text/fit.ts";
import type { OutputStream } from "../../../src/cli/text/output-stream.ts";
import { countColumns } from "../../../src/cli/text/terminal-columns.ts";

const on = (columns: number, isTTY = true) => ({ isTTY, columns });

describe("a message on a terminal", () => {
  it("is broken between words, and goes on further in", () => {
    const error = "error: The model is not one of the service's document.";
    expect(fold(error, on(30))).toEqual(["error: The model is not one of", "  the service's document."]);
    expect(fold("  Nothing was sent. Try another one.", on(22))).toEqual([
      "  Nothing was sent.",
      "    Try another one.",
    ]);
  });

  it("stays as it is where it fits, in a pipe, and where the width is not known", () => {
    const line = "  3 ×  two blanks in it";
    for (const stream of [on(line.length), on(10, false), { isTTY: true }, on(0)])
      expect(fold(line, stream)).toEqual([line]);
  });

  it.each([
    ["a command that ends it", "Resume with:", 'imggen generate "a red fox" --output my-pictures/'],
    ["a command as root", "After sudo:", "sudo chown -R \"$USER\" '/home/a user/.local'"],
    ["another program's command", "Run:", "chmod 700 '/home/a user/.local/state/imggen'"],
    ["a URL", "It is at", "https://service.example/a/very/long/path/to/it"],
    ["a path in quotes", "There is no", '"my pictures/of foxes/in the snow.png".'],
  ])("keeps %s in one piece, on a line of its own where there is no room beside", (_what, before, whole) => {
    expect(fold(`  ${before} ${whole}`, on(30))).toEqual([`  ${before}`, whole]);
  });

  it("keeps a command within a sentence in one piece, and breaks the sentence around it", () => {
    const hint = "Nothing was sent. imggen history --all lists the tasks whose requests are known.";
    expect(fold(hint, on(30))).toEqual([
      "Nothing was sent.",
      "  imggen history --all lists",
      "  the tasks whose requests are",
      "  known.",
    ]);
    expect(fold("Choose a cheaper model (imggen models).", on(33))).toEqual([
      "Choose a cheaper model",
      "  (imggen models).",
    ]);
  });
});

it.each([
  ["ASCII", "a red fox, from above"],
  ["Latin with accents", "un café crème à l'été"],
  ["accents of their own", "un cafe\u0301 cre\u0300me"],
  ["Cyrillic", "рыжая лисица в снегу"],
  ["Devanagari", "लाल लोमड़ी"],
  ["Japanese", "赤い狐 雪の中のアカギツネ、ﾌﾙ「Ｆｏｘ」"],
  ["Korean", "붉은 여우 한 마리"],
  ["Chinese", "雪中的赤狐 𠀀。"],
  ["emoji", "🦊 ⌚ 👨‍👩‍👧"],
  ["typography", "“fox” – ‘snow’ … ✓ 2 × 3"],
])("folds %s by the columns that it takes", (_what, text) => {
  const columns = countColumns(text);
  expect(fold(text, on(columns))).toEqual([text]);
  expect(fold(text, on(columns - 1)).length).toBe(2);
});

/** A terminal, and what was written to it. */
function terminal(columns: number) {
  let text = "";
  const stream: OutputStream = {
    isTTY: true,
    columns,
    write(data, done) {
      text += Buffer.from(data).toString("utf8");
      done();
      return true;
    },
  };
  const streams = { stdout: stream, stderr: stream, env: {}, signal: new AbortController().signal };
  const console = new Console(streams, { quiet: false, color: false });
  return { console, text: () => text };
}

describe("the console", () => {
  it("never breaks a line that is to stay whole", async () => {
    const { console, text } = terminal(10);
    await console.note([{ text: "Saved a red fox.png" }, "and then more"]);
    expect(text()).toBe("Saved a red fox.png\nand then\n  more\n");
  });

  it("breaks a question between words, and leaves a blank before the answer", async () => {
    const { console, text } = terminal(20);
    await console.question("Spend perhaps 1,200 credits? [y/N] ");
    expect(text()).toBe("Spend perhaps 1,200\n  credits? [y/N] ");
  });

  it("never breaks a result, nor a document", async () => {
    const { console, text } = terminal(10);
    await console.result("a result that is long");
    await console.json({ text: "a document" });
    await console.event({ text: "an event line" });
    expect(text()).toBe('a result that is long\n{"text":"a document"}\n{"text":"an event line"}\n');
  });
});
