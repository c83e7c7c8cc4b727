import { spawn } from "node:child_process";
import { cp, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import { success } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

it("a program whose files are gone once it was charged, as in an upgrade, still saves the image", async () => {
  const [program, home, out] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
  for (const part of ["bin", "dist", "package.json"])
    await cp(path.join(ROOT, part), path.join(program, part), { recursive: true });
  const server = await liveService(PICTURE, {
    submit: (_request, socket) =>
      void rm(path.join(program, "dist"), { recursive: true }).then(() =>
        socket.write(success({ taskId: "task-1" })),
      ),
  });
  const { PATH } = process.env;
  const env = {
    PATH,
    IMGGEN_HOME: home,
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${server.origin}/api`,
  };
  const args = ["generate", "a fox", "--json", "--output", path.join(out, "fox.png")];
  const child = spawn(process.execPath, [path.join(program, "bin/imggen.js"), ...args], {
    env,
    stdio: "pipe",
  });
  const { code, stdout } = await finished(child);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, charged: "yes", taskId: "task-1" });
  expect(code).toBe(0);
  expect(await readFile(path.join(out, "fox.png"))).toEqual(PICTURE);
});
