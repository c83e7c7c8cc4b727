import { describe, expect, it } from "vitest";
import { detectScreen, fitCells, type Terminal } from "../../src/graphics/terminal.ts";

const NOTHING_NAMED = { kitty: false, iterm2: false, sixel: false };

/** What is found out about a terminal, and what it was asked. */
async function found(terminal: Partial<Omit<Terminal, "named">> & { named?: object; answer?: string } = {}) {
  const { answer = "", named = {}, ...known } = terminal;
  const asked: string[] = [];
  const screen = await detectScreen({
    env: { TERM: "xterm-256color" },
    columns: 80,
    rows: 24,
    hasColors: true,
    query: async (question) => {
      asked.push(question);
      return answer;
    },
    ...known,
    detectGraphics: async () => ({ ...NOTHING_NAMED, ...named }),
  });
  return { ...screen, asked };
}

describe("a terminal's protocol", () => {
  it.each([
    ["kitty where the environment names it", { named: { kitty: true, sixel: true } }, "kitty"],
    ["iterm2 where the environment names it", { named: { iterm2: true, sixel: true } }, "iterm2"],
    ["sixel where the environment names nothing else", { named: { sixel: true } }, "sixel"],
    [
      "kitty where the terminal says that it is Ghostty",
      { answer: "\u001bP>|ghostty 1.2.0\u001b\\\u001b[?62;22c" },
      "kitty",
    ],
    [
      "iterm2 where it says that it is iTerm2",
      { answer: "\u001bP>|iTerm2 3.5.0\u001b\\\u001b[?65;4c" },
      "iterm2",
    ],
    ["sixel where that is among its attributes", { answer: "\u001b[?62;4;22c" }, "sixel"],
    [
      "half blocks where its attributes hold only numbers like that of sixel",
      { answer: "\u001b[?64;14;44c" },
      "blocks",
    ],
    ["half blocks where it answers nothing", {}, "blocks"],
    ["half blocks where it answers nonsense", { answer: "\u001bP>|\u001b[6;;t\u001b[?" }, "blocks"],
  ])("is %s", async (_what, terminal, protocol) => {
    expect((await found(terminal)).protocol).toBe(protocol);
  });

  it.each([
    ["sixel, if tmux itself shows that", "\u001b[?1;2;4c", "sixel"],
    ["half blocks otherwise: what is around it would draw over other panes", "\u001b[?1;2c", "blocks"],
  ])("in tmux is %s", async (_what, answer, protocol) => {
    const env = { TERM: "tmux-256color", TMUX: "/tmp/tmux-0/default,1,0" };
    const screen = await found({ env, answer, named: { kitty: true, iterm2: true, sixel: true } });
    expect(screen.protocol).toBe(protocol);
  });

  it("is asked of tmux alone in tmux: the terminal around it would answer after tmux, when nobody reads", async () => {
    const { asked } = await found({ env: { TERM: "tmux-256color", TMUX: "/tmp/tmux-0/default,1,0" } });
    expect(asked).toEqual(["\u001b[16t\u001b[14t\u001b[c"]);
  });

  it.each([
    ["over SSH, where the answer might come too late", { TERM: "xterm", SSH_CONNECTION: "1" }],
    ["that is as simple as the Linux console", { TERM: "linux" }],
    ["that is dumb", { TERM: "dumb" }],
    ["of which nothing is known", {}],
  ])("is not asked for %s", async (_what, env) => {
    expect((await found({ env })).asked).toEqual([]);
  });
});

it("the size of a character is what the terminal says, else a usual one", async () => {
  expect((await found({ answer: "\u001b[6;32;15t\u001b[?62c" })).cell).toEqual({ width: 15, height: 32 });
  expect((await found({ answer: "\u001b[6;0;0t\u001b[?62c" })).cell).toEqual({ width: 10, height: 20 });
  expect((await found({ answer: "\u001b[4;408;880t\u001b[?62c" })).cell).toEqual({ width: 11, height: 17 });
});

it("a small character is assumed for sixel graphics, which the terminal does not scale: none is higher than its screen", async () => {
  const xterm = await found({ answer: "\u001bP>|XTerm(379)\u001b\\\u001b[?64;4c", columns: 100, rows: 45 });
  const { width, height } = fitCells({ width: 2048, height: 2048 }, xterm, xterm.cell);
  // XTerm's own font has characters of 6×13.
  expect(Math.ceil((height * xterm.cell.height) / 13)).toBeLessThanOrEqual(41);
  expect((width * xterm.cell.width) / 6).toBeLessThanOrEqual(100);
});

it.each([
  [{ TERM: "xterm-256color", COLORTERM: "truecolor" }, true, "truecolor"],
  [{ TERM: "xterm-256color" }, true, "256"],
  [{ TERM: "xterm-256color", FORCE_COLOR: "3" }, true, "truecolor"],
  [{ TERM: "linux" }, true, "none"],
  [{ TERM: "dumb", COLORTERM: "truecolor" }, true, "none"],
  [{ TERM: "xterm-256color", COLORTERM: "truecolor" }, false, "none"],
] as const)("with %j and colours %j, text has the colours %j", async (env, hasColors, colors) => {
  expect((await found({ env, hasColors })).colors).toBe(colors);
});
