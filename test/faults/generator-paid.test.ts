import { describe, expect, it } from "vitest";
import { makesImage } from "../support/generator-world.ts";
import { liveServer } from "../support/live-server.ts";
import { generatorEnvironment } from "../support/paid-world.ts";
import { programWorld } from "../support/program-world.ts";
import { type Behaviour, response } from "../support/scripted-server.ts";
import { inTurn, silence } from "../support/scripts.ts";
import { handlesSignals, startedWhen } from "../support/started.ts";
import { pause } from "../support/wait.ts";

/** A paid generator, whose replies to requests for an image are these, and a key for it. */
async function paidWorld(...behaviours: Behaviour[]) {
  const behave = inTurn(...behaviours);
  const server = await liveServer((request, socket) =>
    request.method === "POST" ? behave(request, socket) : void socket.write(response(200, '{"data":[]}')),
  );
  const world = await programWorld(null);
  const env = generatorEnvironment(server.origin);
  const args = world.generateArgs(["--generator-paid", "--generator-model", "flux"]);
  const generate = (...more: string[]) => world.run([...args, ...more], { env });
  const underWay = async () => {
    const started = await startedWhen(world, () => server.submits().length === 1, args, { env });
    await handlesSignals(started.program);
    return started;
  };
  const resume = () => world.afterResume(["--generator-paid"], { env });
  return { world, server, generate, underWay, resume };
}

const SAVED = { exit: 0, type: null, files: [expect.stringMatching(/\.png$/)] };

describe("a paid request", () => {
  it("in flight is waited for after Ctrl-C, which says so; resume saves its image, and sends nothing", async () => {
    const soon: Behaviour = async (request, socket) => {
      await pause(1500);
      await makesImage(request, socket);
    };
    const { world, server, underWay, resume } = await paidWorld(soon);
    const { program, end } = await underWay();
    program.kill("SIGINT");
    const run = await end;
    expect(run.stderr).toMatch(
      /^Waiting for the reply of paid task (task_\w+), .* stops waiting for it; to resume: imggen resume \1$/m,
    );
    expect(await world.aftermath(run)).toMatchObject({ exit: 130, type: "interrupted", charged: "yes" });
    expect(await resume()).toMatchObject(SAVED);
    expect(server.submits()).toHaveLength(1);
  });

  it("in flight is given up at the second Ctrl-C: its outcome is unknown, and it is never sent again by itself", async () => {
    const { world, server, underWay, resume } = await paidWorld(silence, makesImage);
    const { program, end } = await underWay();
    program.kill("SIGINT");
    await pause(500);
    program.kill("SIGINT");
    const { code, stdout } = await end;
    expect(code).toBe(130);
    expect(JSON.parse(stdout).error.hint).toMatch(
      /Stopped waiting for the reply of task (task_\w+); to resume: imggen resume \1$/,
    );
    for (let time = 0; time < 2; time++)
      expect(await resume()).toMatchObject({ exit: 9, files: [], open: ["unknown"] });
    expect(server.submits()).toHaveLength(1);
    expect(await world.files()).toEqual([]);
  });

  it("in flight is one of unknown outcome where its imggen was killed", async () => {
    const { server, underWay, resume } = await paidWorld(silence, makesImage);
    const { program, end } = await underWay();
    program.kill("SIGKILL");
    await end;
    expect(await resume()).toMatchObject({ exit: 9, open: ["unknown"] });
    expect(server.submits()).toHaveLength(1);
  });

  it("is not sent where its reference image's host never answers: exit 2, nothing charged", async () => {
    const { world, server, generate } = await paidWorld(makesImage);
    const host = await liveServer(silence);
    const run = await generate("--image", `${host.origin}/fox.png`, "--generator-timeout", "1s");
    expect(await world.aftermath(run)).toMatchObject({ exit: 2, type: "invalid_request", charged: "no" });
    expect(JSON.parse(run.stdout).error.message).toMatch(
      /fox\.png could not be downloaded: the time limit .* exceeded/,
    );
    expect(server.submits()).toEqual([]);
  });
});
