import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { sandboxShell } from "../support/sandbox-shell.ts";

it("every command of the skill works, as JSON, and charges what the skill says", async () => {
  const { run, folder } = await sandboxShell();
  const skill = await readFile((await run("imggen skill install")).stdout.trim(), "utf8");
  const lines = [...skill.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
    block.trim().split("\n"),
  );
  const answers = new Map<string, unknown>();
  for (const line of lines) {
    const { stdout } = await run(line);
    for (const document of stdout.trim().split("\n").filter(Boolean)) answers.set(line, JSON.parse(document));
  }
  expect(lines.length).toBeGreaterThan(8);
  const answerTo = (part: string) => answers.get(lines.find((line) => line.includes(part)) ?? "");
  expect(answerTo('snow" --model gamma-image-2 --quality 1K --dry-run')).toMatchObject({
    ok: true,
    credits: 2,
  });
  expect(answerTo('snow" --model gamma-image-2 --quality 1K --max-credits')).toMatchObject({
    status: "completed",
    credits: 2,
    files: [{ path: expect.stringContaining(path.join(folder, "images")) }],
  });
  expect(answerTo("--no-wait")).toMatchObject({ status: "submitted", credits: 2 });
  expect(answerTo("imggen batch")).toMatchObject({ type: "summary", saved: 2, credits: 4 });
  // What an agent repeats costs nothing.
  const before = await run("imggen history --all --json");
  for (const line of lines.filter((each) => /--reuse|batch/.test(each))) await run(line);
  expect(await run("imggen history --all --json")).toEqual(before);
});
