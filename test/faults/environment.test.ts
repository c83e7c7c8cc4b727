import { describe, expect, it } from "vitest";
import { asAnotherUser, CAN_BE_ANOTHER_USER } from "../support/another-user.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { type ProgramWorld, programWorld, serviceWorld } from "../support/program-world.ts";

/** Runs the program in a working folder that has just been deleted. */
const IN_DELETED_FOLDER = ["sh", "-c", 'mkdir gone && cd gone && rmdir "$PWD" && exec "$@"', "sh"];

describe("in a working folder that was deleted,", () => {
  it.each([["--version"], ["resume"]])("imggen %s works", async (command) => {
    const { world } = await serviceWorld();
    const run = await world.run(command.split(" "), { through: IN_DELETED_FOLDER });
    expect({
      code: run.code,
      stderr: run.stderr.replace("Nothing to resume: no task is unfinished.\n", ""),
    }).toMatchObject({
      code: 0,
      stderr: expect.not.stringMatching(/error|nothing was charged|may have been charged/i),
    });
  });

  it.each([
    ["an image is to be saved there", ["generate", "a fox"]],
    ["a batch is to be saved there", ["batch", "/dev/null/rows.txt"]],
    ["a prompt is read from there", ["generate", "--prompt-file", "prompt.txt", "-o", "/tmp/"]],
    ["a manifest is read from there", ["batch", "rows.txt", "-o", "/tmp/"]],
  ])("it is said in one line where %s: exit 8, nothing sent", async (_name, args) => {
    const { world } = await serviceWorld();
    const run = await world.run([...args, "--json"], { through: IN_DELETED_FOLDER });
    const after = await world.aftermath(run);
    expect(after).toMatchObject({
      exit: 8,
      type: "save_failed",
      charged: "no",
      submits: 0,
      open: [],
      done: [],
    });
    expect(JSON.parse(run.stdout).error.message).toMatch(/^The working folder cannot be used/);
  });
});

describe.skipIf(!CAN_BE_ANOTHER_USER)("without HOME and without a home folder,", () => {
  it.each(["--version", "--help", "models"])("imggen %s works", async (command) => {
    const run = await withoutHome(await programWorld(null), [command]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
  });

  it.each([
    ["history", ["history"]],
    ["generate", ["generate", "a fox"]],
    ["resume", ["resume"]],
    ["config path", ["config", "path"]],
  ])("imggen %s names IMGGEN_HOME: exit 2, nothing sent", async (_name, args) => {
    const server = await liveService(PICTURE);
    const run = await withoutHome(await programWorld(server), [...args, "--json"]);
    expect(run.code).toBe(2);
    expect(JSON.parse(run.stdout)).toMatchObject({
      error: { type: "usage", hint: expect.stringContaining("IMGGEN_HOME") },
      charged: "no",
    });
    expect(server.requests).toEqual([]);
  });
});

async function withoutHome(world: ProgramWorld, args: readonly string[]) {
  return world.run(args, asAnotherUser({ HOME: undefined, IMGGEN_HOME: undefined }));
}
