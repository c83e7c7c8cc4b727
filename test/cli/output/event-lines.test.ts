import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines } from "../../support/batch-world.ts";
import { commandWorld } from "../../support/command-world.ts";
import { failure } from "../../support/scripted-server.ts";
import { replies } from "../../support/scripts.ts";

const EVENTS = ["--progress", "json"];

/** Every line of standard error, each of which must be a JSON object. */
function events(stderr: string): { type: string; [field: string]: unknown }[] {
  return jsonLines(stderr) as never[];
}

const types = (stderr: string) => events(stderr).map(({ type }) => type);

describe("--progress json", () => {
  it("reports each step of generate as a line on standard error, and leaves standard output as it is", async () => {
    const { run } = await commandWorld();
    const { code, stdout, stderr } = await run(["generate", "a fox", ...EVENTS]);
    expect([code, types(stderr).filter((type) => type !== "note")]).toEqual([
      0,
      ["submitted", "accepted", "polling", "downloading", "saved"],
    ]);
    const [, accepted, , downloading, saved] = events(stderr);
    expect([accepted, downloading]).toMatchObject([{ taskId: "task-1" }, { taskId: "task-1", bytes: 0 }]);
    expect(saved).toMatchObject({ taskId: "task-1", path: stdout.trimEnd(), mediaType: "image/png" });
    expect(saved).not.toHaveProperty("url");
  });

  it("reports the same under --quiet and --json, but no notes", async () => {
    const { run } = await commandWorld();
    const { stderr } = await run(["generate", "a fox", "--progress=json", "--json", "--quiet"]);
    expect(types(stderr)).toEqual(["submitted", "accepted", "polling", "downloading", "saved"]);
  });

  it("reports a failure as an error, and bad usage too", async () => {
    const { run } = await commandWorld({ submit: (_, socket) => void socket.write(failure("empty_prompt")) });
    const failed = await run(["generate", "a fox", ...EVENTS]);
    expect(types(failed.stderr).at(-1)).toBe("error");
    expect(events(failed.stderr).at(-1)?.message).not.toMatch(/^error:/);
    const { code, stderr } = await run(["generate", "a fox", "--model", "nope", ...EVENTS]);
    expect([code, types(stderr)]).toEqual([2, ["error"]]);
    const prompt = "what does --progress json do?";
    expect((await run(["generate", prompt, "--model", "nope"])).stderr).toMatch(/^error: /);
  });

  it("reports each row of a batch as it ends", async () => {
    const { run, cwd } = await commandWorld();
    await writeFile(path.join(cwd, "prompts.txt"), "a fox\n\nan owl\n");
    const { stderr } = await run(["batch", "prompts.txt", "--yes", ...EVENTS]);
    const rows = events(stderr).filter(({ type }) => type === "row");
    expect(rows.toSorted((a, b) => Number(a.row) - Number(b.row))).toMatchObject([
      { row: 1, line: 1, status: "completed" },
      { row: 2, line: 3, status: "completed" },
    ]);
    expect(types(stderr).filter((type) => type === "saved")).toHaveLength(2);
  });

  it("reports a row of a batch that was not sent", async () => {
    const noCredits = replies(failure("my_credits.no_credits_description"));
    const { run, cwd } = await commandWorld({ submit: noCredits });
    await writeFile(path.join(cwd, "prompts.txt"), "a fox\nan owl\n");
    const { stderr } = await run(["batch", "prompts.txt", "--yes", "--concurrency", "1", ...EVENTS]);
    const rows = events(stderr).filter(({ type }) => type === "row");
    expect(rows.map(({ status }) => status)).toEqual(["refused", "not_sent"]);
  });

  it("reports the tasks that resume finishes", async () => {
    const { run } = await commandWorld();
    for (const prompt of ["a fox", "an owl"]) await run(["generate", prompt, "--no-wait"]);
    const { code, stderr } = await run(["resume", ...EVENTS]);
    expect([code, types(stderr).filter((type) => type === "saved").length]).toEqual([0, 2]);
  });

  it("is documented, with every type of event", async () => {
    const { run } = await commandWorld();
    const { stdout } = await run(["help", "events"]);
    for (const type of "submitted accepted polling downloading saved retry row paused unpaused stopping note warning error".split(
      " ",
    ))
      expect(stdout).toMatch(new RegExp(`^ {2}(?:\\w+, )*${type}\\b`, "m"));
  });
});
