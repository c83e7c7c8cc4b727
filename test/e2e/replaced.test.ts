import { spawn } from "node:child_process";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { finished, ROOT } from "../support/program.ts";
import { success } from "../support/scripted-server.ts";
import { QUICK } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { pause } from "../support/wait.ts";

/** When files go, and which. */
interface Moment {
  at: "start" | "submit" | "poll";
  files: RegExp;
}

const SAVED: Record<string, Moment> = {
  "before it begins, but for those that a submit needs and those that save": {
    at: "start",
    files: /^chunks.shared-connections-/,
  },
  "while the reply to its submit is awaited": { at: "submit", files: /./ },
  "at its first poll": { at: "poll", files: /./ },
};

/** By then the program has long loaded the rest of its code, which it does once the submit is sent. */
const REPLY_MS = 3_000;

/** A service, and a copy of the program whose files go at that moment. */
async function worldWithoutFiles({ at, files }: Moment) {
  const [program, home, out] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
  const dist = path.join(program, "dist");
  for (const part of ["bin", "dist", "package.json"])
    await cp(path.join(ROOT, part), path.join(program, part), { recursive: true });
  const reached = async (moment: Moment["at"]) => {
    if (moment !== at) return;
    const names = await readdir(dist, { recursive: true });
    for (const name of names.filter((each) => files.test(each)))
      await rm(path.join(dist, name), { recursive: true, force: true });
  };
  await reached("start");
  const server = await liveService(PICTURE, {
    submit: async (_request, socket) => {
      if (at === "submit") await pause(REPLY_MS);
      await reached("submit");
      socket.write(success({ taskId: "task-1" }));
    },
    poll: async (request, socket) => {
      await reached("poll");
      const resultUrl = `http://${request.headers.host}/files/1.png`;
      socket.write(success({ status: "completed", resultUrl, errorCode: 0 }));
    },
  });
  const { PATH } = process.env;
  const env = { PATH, IMGGEN_HOME: home, IMGGEN_API_KEY: "sk-test", IMGGEN_BASE_URL: `${server.origin}/api` };
  const run = (args: readonly string[], folder = program) =>
    finished(spawn(process.execPath, [path.join(folder, "bin/imggen.cjs"), ...args], { env, stdio: "pipe" }));
  return { file: path.join(out, "fox.png"), run, server };
}

it.each(Object.entries(SAVED))(
  "a program whose files are gone %s, as in an upgrade, still saves the image",
  async (_when, moment) => {
    const { run, file } = await worldWithoutFiles(moment);
    const { code, stdout } = await run(["generate", "a fox", ...QUICK, "--json", "--output", file]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, charged: "yes", taskId: "task-1" });
    expect(code).toBe(0);
    expect(await readFile(file)).toEqual(PICTURE);
  },
);

it.each([/^chunks.save-/, /^chunks.ipaddr-/])(
  "a program whose files are gone before its submit sends nothing: %s",
  async (files) => {
    const { run, file, server } = await worldWithoutFiles({ at: "start", files });
    const { code, stdout } = await run(["generate", "a fox", ...QUICK, "--json", "--output", file]);
    const { ok, charged, error } = JSON.parse(stdout);
    expect({ ok, charged, error }).toMatchObject({
      ok: false,
      charged: "no",
      error: {
        type: "internal",
        message: "A part of imggen could not be loaded: was imggen updated meanwhile?",
        hint: expect.stringMatching(/^Nothing was sent\. Run the same command again/),
      },
    });
    expect({ code, submits: server.submits().length }).toEqual({ code: 1, submits: 0 });
    expect(await run(["generate", "a fox", ...QUICK, "--output", file], ROOT)).toMatchObject({ code: 0 });
    expect(await readFile(file)).toEqual(PICTURE);
  },
);

it("a client whose code could not be loaded at one call loads it at the next", async () => {
  const program = await temporaryFolder();
  for (const part of ["dist", "package.json"])
    await cp(path.join(ROOT, part), path.join(program, part), { recursive: true });
  const script = `
    const { renameSync } = require("node:fs");
    const client = require("./dist/client.cjs").createClient({ sandbox: true, home: "home" });
    renameSync("dist/chunks", "dist/away");
    client.history().catch(({ error, charged }) => {
      console.log(error.type, charged);
      renameSync("dist/away", "dist/chunks");
      return client.history();
    }).then(({ tasks }) => console.log(tasks.length)).then(() => client.close());`;
  const child = spawn(process.execPath, ["-e", script], { cwd: program, stdio: "pipe" });
  expect(await finished(child)).toMatchObject({ code: 0, stdout: "internal no\n0\n" });
});
