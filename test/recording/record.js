// Makes the picture of a terminal in README.md: `npm run picture`. What it shows is one run of the built program against
// the embedded sandbox, in a real pseudo-terminal (util-linux's `script`). Of the frames that the program drew, those
// are taken that every run draws; what differs from run to run, ids and durations, is made the same. So the picture is
// the same whatever the machine, until imggen says something else.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { animated } from "./animated.js";
import { Terminal } from "./terminal.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PICTURE = path.join(ROOT, ".github/terminal.svg");
const COLUMNS = 84;
const PATIENCE_MS = 120_000;

/** How long the sandbox takes for each is part of its prompt, so that the rows of a batch end in one order. */
const PROMPTS = `prompt,output
a red fox in the snow [sandbox:slow=3s],fox
a lighthouse at dusk [sandbox:slow=7s],lighthouse
an owl at night [sandbox:slow=11s],owl
a castle in the mountains [sandbox:slow=19s],castle
a sailing boat [sandbox:slow=20s],boat
a cat on the beach [sandbox:slow=21s],cat
`;

const CAPTION =
  `imggen in a terminal. "imggen generate" with --sandbox saves an image of a red fox, free. "imggen batch" draws a
bar over six rows; after the third, Ctrl-C stops it: three are saved, three are unfinished, and each is named. "imggen
resume" saves the other three.`.replaceAll("\n", " ");

/** What is typed, what the program draws then, in this order, and when Ctrl-C is pressed. The last frame is its end. */
const SCENES = [
  { typed: 'imggen generate "a red fox in the snow" --sandbox', frames: [/Generating/, /Downloading/] },
  {
    typed: "imggen batch prompts.csv -m gamma-image-2 -q 1K -o pictures --sandbox",
    frames: [
      / 0 of 6 .*4 running/,
      / 1 of 6 .*4 running/,
      / 2 of 6 .*4 running/,
      / 3 of 6 .*3 running/,
      /\^C/,
    ],
    interrupt: / 3 of 6 .*3 running/,
  },
  { typed: "imggen resume", frames: [/ 0 of 3 tasks/, / 1 of 3 tasks/, / 2 of 3 tasks/] },
];

/** What stands for each id, by its last digits. */
const ids = new Map();

const folder = mkdtempSync(path.join(tmpdir(), "imggen-recording-"));
try {
  mkdirSync(path.join(folder, "bin"));
  symlinkSync(path.join(ROOT, "bin/imggen.cjs"), path.join(folder, "bin/imggen"));
  writeFileSync(path.join(folder, "prompts.csv"), PROMPTS);
  const frames = await recorded();
  const svg = animated(frames, COLUMNS, CAPTION);
  writeFileSync(PICTURE, svg);
  console.log(`${PICTURE} ${(svg.length / 1000).toFixed(1)} kB, ${frames.length} frames`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Types the commands of all scenes into one shell. @returns the frames of the picture, each with its duration */
async function recorded() {
  const shell = openShell();
  const frames = [];
  try {
    await shell.prompt();
    for (const { typed, frames: wanted, interrupt } of SCENES) {
      for (const part of typed.match(/.{1,3}/gu)) {
        await shell.type(part);
        frames.push({ lines: alike(shell.lines()), ms: 90 });
      }
      const drawn = await shell.enter(interrupt);
      frames.push({ lines: alike(drawn[0]), ms: 400 });
      for (const lines of chosen(drawn, wanted)) frames.push({ lines, ms: 1000 });
      frames.push({ lines: alike(shell.lines()), ms: 1800 });
    }
  } finally {
    shell.close();
  }
  frames.at(-1).ms = 6000;
  return frames;
}

/** The frames that show what is wanted, one for each. @throws Error if one was not drawn */
function chosen(drawn, wanted) {
  const rest = [...drawn];
  return wanted.map((pattern) => {
    const at = rest.findIndex((lines) => pattern.test(textOf(lines)));
    if (at === -1) throw new Error(`this run has not drawn ${pattern} when it should: record it again`);
    return alike(rest.splice(0, at + 1).at(-1));
  });
}

function textOf(lines) {
  return lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
}

/** The same digits for the first id in every run, others for the second, and so on. A short id is the end of a long one. */
function sameId(id) {
  const short = id.slice(-8);
  if (!ids.has(short)) ids.set(short, createHash("sha256").update(`${ids.size}`).digest("hex").slice(0, 20));
  return ids.get(short).slice(-id.length);
}

/** A frame without what differs from run to run. Rows that end together have no order: they get that of the manifest. */
function alike(lines) {
  const sorted = [...lines];
  for (const [at, line] of lines.entries()) {
    const before = sorted.slice(0, at);
    const isLater = (other) => numberOf(other) > numberOf(line);
    const to = before.findIndex(isLater);
    if (to !== -1) sorted.splice(to, 0, ...sorted.splice(at, 1));
  }
  return sorted.map((line) => line.map(({ text, style }) => ({ style, text: withoutTimes(text) })));
}

/** The number in `line 5: unfinished`. */
function numberOf([piece]) {
  return Number(/^line (\d+): unfinished/.exec(piece?.text ?? "")?.[1]);
}

function withoutTimes(text) {
  return text
    .replaceAll(folder, "/home/ada")
    .replaceAll(/\b(?:[0-9a-f]{20}|[0-9a-f]{8})\b|(?<=task_)[0-9a-f]{20}/g, sameId)
    .replace(/(?:, | · )(?:about )?[\d.]+ m?s\b(?: left)?.*?(?=\)|$)/, "")
    .replaceAll(/[\u2800-\u28ff]/g, "⠹");
}

/** A shell in a terminal, which a person types into. */
function openShell() {
  const env = {
    PATH: `${path.join(folder, "bin")}:${process.env.PATH}`,
    HOME: folder,
    IMGGEN_HOME: path.join(folder, "home"),
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    PS1: "$ ",
  };
  const command = `stty cols ${COLUMNS} rows 40; exec sh`;
  const child = spawn("script", ["-qfc", command, "/dev/null"], { cwd: folder, env });
  let drawn = [];
  let onChange = () => {};
  const terminal = new Terminal(COLUMNS, (lines) => drawn.push(lines));
  child.stdout.setEncoding("utf8").on("data", (text) => {
    terminal.write(text);
    onChange();
  });
  /** Waits until the terminal, or a frame since the last command, is as `isThere` says. */
  const until = (isThere) =>
    new Promise((resolve, reject) => {
      const late = () => reject(new Error(`the terminal does not get on:\n${textOf(terminal.lines())}`));
      const timer = setTimeout(late, PATIENCE_MS);
      onChange = () => {
        if (!isThere()) return;
        clearTimeout(timer);
        onChange = () => {};
        resolve();
      };
      onChange();
    });
  const prompt = () =>
    until(() => textOf(terminal.lines()).endsWith("\n$ ") || textOf(terminal.lines()) === "$ ");
  return {
    lines: () => terminal.lines(),
    prompt,
    async type(text) {
      const before = textOf(terminal.lines());
      child.stdin.write(text);
      await until(() => textOf(terminal.lines()) === before + text);
    },
    /** Runs what was typed. @param interrupt the frame at which Ctrl-C is pressed @returns all frames that were drawn */
    async enter(interrupt) {
      drawn = [];
      child.stdin.write("\n");
      await until(() => drawn.length > 0);
      if (interrupt) {
        await until(() => drawn.some((lines) => interrupt.test(textOf(lines))));
        child.stdin.write("\u0003");
      }
      await prompt();
      return drawn;
    },
    close: () => child.stdin.end("\u0004"),
  };
}
