import { spawn } from "node:child_process";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import { success } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** When files go, and which. */
const MOMENTS = {
  "before it begins, but for those that a submit needs": { at: "start", files: /^chunks.polls-/ },
  "at its submit": { at: "submit", files: /./ },
  "at its first poll": { at: "poll", files: /./ },
};

/** A service, and a copy of the program whose files go at that moment. */
async function worldWithoutFiles({ at, files }: (typeof MOMENTS)[keyof typeof MOMENTS]) {
  const [program, home, out] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
  const dist = path.join(program, "dist");
  for (const part of ["bin", "dist", "package.json"])
    await cp(path.join(ROOT, part), path.join(program, part), { recursive: true });
  const reached = async (moment: string) => {
    if (moment !== at) return;
    const names = await readdir(dist, { recursive: true });
    for (const name of names.filter((each) => files.test(each)))
      await rm(path.join(dist, name), { recursive: true, force: true });
  };
  await reached("start");
  const server = await liveService(PICTURE, {
    submit: async (_request, socket) => {
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
  const env = {
    PATH,
    IMGGEN_HOME: home,
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${server.origin}/api`,
  };
  return {
    file: path.join(out, "fox.png"),
    run: (args: readonly string[]) =>
      finished(
        spawn(process.execPath, [path.join(program, "bin/imggen.js"), ...args], { env, stdio: "pipe" }),
      ),
  };
}

it.each(Object.entries(MOMENTS))(
  "a program whose files are gone %s, as in an upgrade, still saves the image",
  async (_when, moment) => {
    const { run, file } = await worldWithoutFiles(moment);
    const { code, stdout } = await run(["generate", "a fox", "--json", "--output", file]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, charged: "yes", taskId: "task-1" });
    expect(code).toBe(0);
    expect(await readFile(file)).toEqual(PICTURE);
  },
);
