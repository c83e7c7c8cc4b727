import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { environmentTable, exitCodeTable } from "../../src/cli/help/reference-tables.ts";
import { EXIT_CODES } from "../../src/client/exit-codes.ts";
import { comfyDouble, workflow } from "../support/comfyui.ts";
import { describedProgram } from "../support/description.ts";
import { BFL } from "../support/doubles/bfl.ts";
import { serviceDouble } from "../support/doubles/double.ts";
import { EXAMPLE, EXAMPLE_FOLDER } from "../support/doubles/example.ts";
import { FAL } from "../support/doubles/fal.ts";
import { GEMINI } from "../support/doubles/gemini.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { ROOT } from "../support/program.ts";
import { sandboxShell } from "../support/sandbox-shell.ts";
import { json } from "../support/scripted-server.ts";

const DOCS = (await readdir(path.join(ROOT, ".github/docs"), { recursive: true }))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `.github/docs/${name}`);
const PAGES = ["README.md", ...DOCS];
const textOf = (page: string) => readFile(path.join(ROOT, page), "utf8");
const TEXTS = await Promise.all(PAGES.map(async (page) => [page, await textOf(page)] as const));
const README = await textOf("README.md");

describe("README", () => {
  it("names every command", async () => {
    const { command } = await describedProgram();
    for (const { name } of command.commands) expect(README).toContain(`\`imggen ${name}`);
  });

  it("names every exit code with its error types", () => {
    const rows = [...README.matchAll(/^\| (\d+) \| (.+?) \|/gm)];
    const types = rows.flatMap(([, code, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, type]) => [type, Number(code)]),
    );
    expect(Object.fromEntries(types)).toEqual(EXIT_CODES);
  });

  it("says of each exit code what the program says of it", () => {
    const rows = [...README.matchAll(/^\| (\d+) \| .+? \| (.+) \|$/gm)];
    const told = rows.map(([, code, meaning = ""]) => [Number(code), meaning.replaceAll("`", "")]);
    const known = exitCodeTable().flatMap(({ code, meaning }) => (code > 128 ? [] : [[code, meaning]]));
    expect(told).toEqual(known);
  });
});

it("the page about settings names every environment variable", async () => {
  const page = await textOf(".github/docs/settings.md");
  for (const { name } of environmentTable()) expect(page).toContain(`\`${name}`);
});

it.for(TEXTS)("every flag in %s is one of the command line", async ([, text]) => {
  const { command, globalOptions } = await describedProgram();
  const options = [...globalOptions, ...command.commands.flatMap((each) => each.options)];
  const all = options.map(({ long }) => long);
  const code = [...text.matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);
  const named = code.flatMap((text) => [...text.matchAll(/(?<!\S)--[a-z-]+/g)].map(([flag]) => flag));
  expect(named.filter((flag) => !all.includes(flag))).toEqual([]);
});

const WITH_COMMANDS = TEXTS.filter(([, text]) => commandsOf(text).length > 0);

it.for(WITH_COMMANDS)(
  "every command of %s works when it is pasted",
  { timeout: 240_000 },
  async ([, text]) => {
    const { run: shell, folder, baseUrl } = await sandboxShell();
    await writeFile(path.join(folder, "products.csv"), /```csv\n([\s\S]*?)```/.exec(text)?.[1] ?? "");
    const { taskId } = JSON.parse((await shell("imggen generate 'a task' --json")).stdout);
    const generators = await anyGenerators(folder);
    for (const line of commandsOf(text))
      await expect(shell(generators(pasted(line, taskId, baseUrl))), line).resolves.toBeDefined();
  },
);

/** What a reader would paste, one after the other; but for scripts, and servers, which run until they are stopped. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n(?!#!)([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
    block.replaceAll(/\\\n\s*/g, "").split("\n"),
  );
  return blocks.filter((line) => /\bimggen/.test(line) && !/^imggen (?:sandbox|serve)/.test(line));
}

/** A line as it works here: the address and the ids are examples, and jq is not ours. */
function pasted(line: string, taskId: string, baseUrl: string): string {
  return (
    line
      .replaceAll("https://example.com/api", baseUrl)
      .replaceAll("task_3f9c", taskId)
      .replace("npm install && ./bin/imggen.cjs", "imggen")
      // Nobody wants to see what a test has made.
      .replace(" --open", "")
      .replace(/\| jq .*$/, "")
      // An agent that hangs up at once.
      .replace(/^imggen mcp.*/, "$& < /dev/null")
  );
}

/** @returns replaces the generators of the examples: a server in two forms, doubles of the others, and a script */
async function anyGenerators(folder: string): Promise<(line: string) => string> {
  const image = PICTURE.toString("base64");
  const server = await liveServer(({ method }, socket) => {
    socket.write(method === "POST" ? json({ data: [{ b64_json: image }], images: [image] }) : json({}, 404));
  });
  const comfy = await comfyDouble();
  comfy.release();
  const services = await Promise.all(
    [REPLICATE, FAL, BFL, GEMINI].map(async (form) => [form.kind, (await serviceDouble(form)).spec] as const),
  );
  const { spec: example } = await serviceDouble(EXAMPLE);
  const picture = path.join(folder, "picture.png");
  const paint = path.join(folder, "paint");
  await writeFile(picture, PICTURE);
  await writeFile(path.join(folder, "fox.json"), JSON.stringify(workflow()));
  await writeFile(paint, `#!/bin/sh\ncp '${picture}' "$4"\n`);
  await chmod(paint, 0o755);
  return (line) => {
    let result = line
      .replace(/comfyui:http:\/\/gpubox:\d+/g, `comfyui:${comfy.url}`)
      .replace(/http:\/\/(?:gpubox|localhost):\d+/g, server.origin)
      .replace("--generator openai", `--generator ${server.origin}`)
      .replace("/home/ada/bin/paint", paint)
      // The package is not published.
      .replace(/(npm install .*) imggen-provider-example$/, `$1 ${EXAMPLE_FOLDER}`)
      .replace(/npm:imggen-provider-example(?= |$)/, example);
    for (const [kind, spec] of services)
      result = result.replace(`--generator ${kind} `, `--generator ${spec} `);
    return /^imggen .*--generator/.test(result) ? `IMGGEN_GENERATOR_KEY=a-key-of-a-test ${result}` : result;
  };
}
