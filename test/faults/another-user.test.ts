import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ANOTHER_USER, asAnotherUser, CAN_BE_ANOTHER_USER } from "../support/another-user.ts";
import { PICTURE } from "../support/images.ts";
import type { ProgramResult } from "../support/program.ts";
import { type ProgramWorld, serviceWorld } from "../support/program-world.ts";

const MODEL = ["-m", "gamma-image-2"];

/** A world whose folders belong to a user who is not root. */
async function worldOfUser() {
  const { world, server } = await serviceWorld();
  chmodSync(world.folder, 0o755);
  chown(ANOTHER_USER, world.folder);
  const asUser = (args: readonly string[]) =>
    world.run(args, { ...asAnotherUser(world.env), cwd: world.out });
  return { world, server, asUser };
}

function chown(user: number, file: string): void {
  execFileSync("chown", ["-R", `${user}:${user}`, file]);
}

const GET_BACK = 'If another user owns it, as after sudo: sudo chown -R "$USER"';

/** Everything below a folder that does not belong to the user. */
function notOfUser(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => statSync(path.join(folder, name)).uid !== ANOTHER_USER);
}

const ledgerOf = ({ home }: ProgramWorld, ...parts: string[]) => path.join(home, "state", "tasks", ...parts);

/** What a run says that may not read what is at a place of the ledger. */
function expectStopped(run: ProgramResult, world: ProgramWorld, place: string): void {
  expect(run.code).toBe(8);
  expect(JSON.parse(run.stdout)).toMatchObject({
    charged: "no",
    error: {
      type: "save_failed",
      message: expect.stringContaining(place),
      hint: expect.stringContaining(`sudo chown -R "$USER" ${path.join(world.home, "state")}`),
    },
  });
}

describe.skipIf(!CAN_BE_ANOTHER_USER)("on a home that root and its user share,", () => {
  it("whatever root makes belongs to the user of its folder, who goes on with it", async () => {
    const { world, server, asUser } = await worldOfUser();
    const manifest = await world.manifest(["an owl"]);
    const batch = ["batch", manifest, "-o", path.join(world.out, "b"), ...MODEL, "--json"];
    expect(await world.generate()).toMatchObject({ code: 0 });
    expect(await world.run(batch)).toMatchObject({ code: 0 });
    expect(await world.run(["config", "set", "confirmAbove", "50"])).toMatchObject({ code: 0 });
    expect([...notOfUser(world.home), ...notOfUser(world.out)]).toEqual([]);
    expect(await asUser(["config", "get", "confirmAbove"])).toMatchObject({ code: 0, stdout: "50\n" });
    expect(await asUser(world.generateArgs(["--reuse"]))).toMatchObject({ code: 0 });
    expect(await asUser(batch)).toMatchObject({ code: 0 });
    expect(server.submits()).toHaveLength(2);
  });

  it("so does what a command makes for root, and what is copied or kept of it", async () => {
    const { world } = await worldOfUser();
    const picture = path.join(world.folder, "picture.png");
    writeFileSync(picture, PICTURE);
    const command = (then: string) => [
      `--generator=command:sh -c 'cp "$1" "$2" && ${then}' sh ${picture} {output} {promptFile}`,
      "--json",
    ];
    const lost = await world.run(["generate", "an owl", ...command("exit 1"), "--generator-paid"]);
    expect(JSON.parse(lost.stdout)).toMatchObject({ error: { type: "outcome_unknown" } });
    const free = world.generateArgs([...command("exit 0"), "--reuse"]);
    for (const name of ["one.png", "other.png"])
      expect(await world.run([...free, "--output", path.join(world.out, name)])).toMatchObject({ code: 0 });
    const left = notOfUser(world.home).filter(
      (name) => !/scratch.(?:output.png|prompt.txt|.process)$/.test(name),
    );
    expect([...left, ...notOfUser(world.out)]).toEqual([]);
  });

  it("a file that a paid command has locked does not cost the image beside it", async () => {
    const { world, asUser } = await worldOfUser();
    const picture = path.join(world.folder, "picture.png");
    writeFileSync(picture, PICTURE, { mode: 0o644 });
    const command = `sh -c 'cp "$1" "$2" && touch key && chmod 0 key' sh ${picture} {output} {promptFile}`;
    const run = await asUser(world.generateArgs([`--generator=command:${command}`, "--generator-paid"]));
    expect(JSON.parse(run.stdout)).toMatchObject({ ok: true, warnings: [], files: [{}] });
  });

  it.each([
    ["sum of the day", (spent: string) => path.join(spent, readdirSync(spent)[0] ?? "")],
    ["folder of all sums", (spent: string) => spent],
  ])("a %s that the user cannot read stops what rests on it", async (_what, placeIn) => {
    const { world, server, asUser } = await worldOfUser();
    await asUser(["config", "set", "dailyCredits", "100"]);
    await asUser(world.generateArgs([...MODEL, "--no-wait"]));
    const place = placeIn(ledgerOf(world, "spent"));
    chown(0, place);
    // Another prompt: the request itself is no reason to stop.
    expectStopped(await asUser(["generate", "an owl", ...MODEL, "--again", "--json"]), world, place);
    expect(server.submits()).toHaveLength(1);
  });

  it("a folder of finished ones that the user cannot read stops what rests on --reuse", async () => {
    const { world, server, asUser } = await worldOfUser();
    await asUser(world.generateArgs(MODEL));
    chown(0, ledgerOf(world, "done"));
    const args = ["generate", "a fox", ...MODEL, "--reuse", "--json"];
    expectStopped(await asUser(args), world, ledgerOf(world, "done"));
    expect(server.submits()).toHaveLength(1);
  });

  it.each([
    ["claim", "batches"],
    ["record", "done"],
  ])("a batch's %s that the user cannot read stops the batch", async (_what, part) => {
    const { world, server, asUser } = await worldOfUser();
    const manifest = await world.manifest(["a fox"]);
    const batch = [
      "batch",
      manifest,
      "-o",
      path.join(world.out, "b"),
      ...MODEL,
      "--json",
      "--max-credits",
      "9",
    ];
    expect(await asUser(batch)).toMatchObject({ code: 0 });
    execFileSync("chown", ["-R", "0", ledgerOf(world, part)]);
    // Both are one file under two names; the folders can be read.
    execFileSync("find", [ledgerOf(world, part), "-type", "d", "-exec", "chmod", "755", "{}", "+"]);
    expectStopped(await asUser(batch), world, ledgerOf(world));
    expect(server.submits()).toHaveLength(1);
  });

  it("a batch's folder whose mark the user cannot read stops the batch", async () => {
    const { world, server, asUser } = await worldOfUser();
    const [manifest, out] = [await world.manifest(["a fox"]), path.join(world.out, "b")];
    const batch = ["batch", manifest, "-o", out, ...MODEL, "--json", "--yes"];
    expect(await asUser(batch)).toMatchObject({ code: 0 });
    const mark = path.join(out, ".imggen-batch");
    chown(0, mark);
    chmodSync(mark, 0o600);
    const { code, stdout } = await asUser(batch);
    expect([code, JSON.parse(stdout)]).toEqual([
      8,
      expect.objectContaining({
        charged: "no",
        error: expect.objectContaining({ hint: `Nothing was sent. ${GET_BACK} ${mark}` }),
      }),
    ]);
    expect(server.submits()).toHaveLength(1);
  });

  it("an agent's request is not sent either, and does not count in its session", async () => {
    const { world, server, asUser } = await worldOfUser();
    await asUser(world.generateArgs([...MODEL, "--no-wait"]));
    chown(0, ledgerOf(world, "open"));
    const options = asAnotherUser(world.env);
    const run = await world.run(["mcp"], { ...options, cwd: world.out, input: ASKING });
    const answer = JSON.parse(run.stdout.trimEnd().split("\n").at(-1) ?? "");
    expect(JSON.parse(answer.result.content.at(-1).text)).toMatchObject({
      charged: "no",
      error: { type: "save_failed" },
      session: { credits: 0 },
    });
    expect(server.submits()).toHaveLength(1);
  });
});

const asked = (id: number, method: string, params: object) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const ASKING = `${[
  asked(0, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  }),
  asked(1, "tools/call", {
    name: "generate_image",
    arguments: { prompt: "a fox", model: "gamma-image-2", quality: "1K" },
  }),
].join("\n")}\n`;
