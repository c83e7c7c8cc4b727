import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Console } from "../../../src/cli/text/console.ts";
import type { OutputStream } from "../../../src/cli/text/output-stream.ts";
import type { Environment } from "../../../src/client/this-process.ts";
import { isInert, nastyText } from "../../support/active-characters.ts";

const HOSTILE = "a\u001b[2J\nb\u202e";
const ESCAPED = "a\\x1b[2J\\nb\\u{202e}";

function consoleOn({ isTTY = false, env = { TERM: "dumb" } }: { isTTY?: boolean; env?: Environment } = {}) {
  const written = { stdout: "", stderr: "", both: "" };
  const stream = (name: "stdout" | "stderr"): OutputStream => ({
    isTTY,
    write(data, done) {
      const text = Buffer.from(data).toString("utf8");
      written[name] += text;
      written.both += text;
      done();
      return true;
    },
  });
  const { signal } = new AbortController();
  const streams = { stdout: stream("stdout"), stderr: stream("stderr") };
  return { console: new Console({ ...streams, env, signal }, { quiet: false, color: true }), written };
}

describe("the last result", () => {
  it("is the only one: what comes later is dropped", async () => {
    const { console, written } = consoleOn();
    await console.json({ row: 1 });
    const last = console.finish((to) => to.json({ last: true }));
    await console.json({ row: 2 });
    await last;
    await console.finish((to) => to.error("again"));
    expect(written.both).toBe('{"row":1}\n{"last":true}\n');
  });

  it("may be begun on the console itself", async () => {
    const { console, written } = consoleOn();
    await console.finish(() => console.json({ last: true }));
    await console.json({ row: 2 });
    expect(written.stdout).toBe('{"last":true}\n');
  });

  it("may take a while, and nothing comes before it then", async () => {
    const { console, written } = consoleOn();
    const last = console.finish(async (to) => {
      await Promise.resolve();
      await to.json({ last: true });
    });
    await console.json({ row: 1 });
    await last;
    expect(written.stdout).toBe('{"last":true}\n');
  });
});

describe("what goes out", () => {
  it.each([
    ["a result", (to: Console) => to.result(HOSTILE), `${ESCAPED}\n`],
    ["a result of several lines", (to: Console) => to.result([HOSTILE, "c"]), `${ESCAPED}\nc\n`],
    ["fields of a result", (to: Console) => to.resultLine(HOSTILE, "c"), `${ESCAPED}  c\n`],
    ["a note", (to: Console) => to.note(HOSTILE), `${ESCAPED}\n`],
    ["a warning", (to: Console) => to.warn(HOSTILE), `warning: ${ESCAPED}\n`],
    ["an error", (to: Console) => to.error([HOSTILE, "c"]), `${ESCAPED}\nc\n`],
    ["a question", (to: Console) => to.question(HOSTILE), ESCAPED],
  ])("is escaped by the console: %s", async (_name, write, expected) => {
    for (const isTTY of [false, true]) {
      const { console, written } = consoleOn({ isTTY });
      await write(console);
      expect(written.stdout + written.stderr).toBe(expected);
    }
  });

  it("is JSON that parses to the same value, and is inert", async () => {
    await fc.assert(
      fc.asyncProperty(nastyText, async (text) => {
        const { console, written } = consoleOn();
        await console.json({ text });
        expect(JSON.parse(written.stdout)).toEqual({ text });
        expect(isInert(written.stdout.replace(/\n$/, ""))).toBe(true);
      }),
    );
  });
});

it("a path of a result stays as it is for a script, and is escaped on a terminal", async () => {
  const piped = consoleOn();
  await piped.console.resultLine("done", { path: HOSTILE });
  expect(piped.written.stdout).toBe(`done  ${HOSTILE}\n`);
  const terminal = consoleOn({ isTTY: true });
  await terminal.console.resultLine("done", { path: HOSTILE });
  expect(terminal.written.stdout).toBe(`done  ${ESCAPED}\n`);
});

it("colours are put on after the text is escaped, and on labels alone", async () => {
  const { console, written } = consoleOn({ isTTY: true, env: { TERM: "xterm" } });
  await console.error(["error: \u001b[2J", "next"]);
  await console.warn("mind the gap");
  await console.note("✓ Saved");
  expect(written.stderr.split("\n")).toEqual([
    "\u001b[31merror:\u001b[39m \\x1b[2J",
    "next",
    "\u001b[33mwarning:\u001b[39m mind the gap",
    "\u001b[32m✓\u001b[39m Saved",
    "",
  ]);
});

it("lines come in the order in which they were said, coloured or not", async () => {
  const { console, written } = consoleOn({ isTTY: true, env: { TERM: "xterm", NO_COLOR: "" } });
  await Promise.all([console.warn("first"), console.result("second"), console.note("third")]);
  expect(written.both.replaceAll(/\u001b\[\d+m/g, "")).toBe("warning: first\nsecond\nthird\n");
});

it("without colours a line is out before whatever is done next", () => {
  const { console, written } = consoleOn();
  void console.error("now");
  expect(written.stderr).toBe("now\n");
});
