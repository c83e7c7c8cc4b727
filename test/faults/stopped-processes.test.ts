import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { answers, numberIn, type Part, type ServiceForm } from "../support/doubles/double.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { OPENAI } from "../support/doubles/synchronous.ts";
import { paidWorld } from "../support/paid-world.ts";
import type { ProgramWorld } from "../support/program-world.ts";
import type { Behaviour } from "../support/scripted-server.ts";
import { inTurn, silence } from "../support/scripts.ts";
import { handlesSignals, killed, startedWhen } from "../support/started.ts";
import { pause } from "../support/wait.ts";

/** Lets the time of every process be over that has announced itself, as if it had been stopped for so long. */
async function endHolders({ home }: ProgramWorld): Promise<void> {
  const folder = path.join(home, "state", "tasks", "holders");
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const lease = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...lease, until: Date.now() - 1 }));
  }
}

const usual =
  (form: ServiceForm, part: Part, number = 1): Behaviour =>
  (request, socket) => {
    const reply = form.replies[part];
    if (!reply) throw new TypeError(`no usual reply to ${part}`);
    return answers(reply, number)(request, socket);
  };

const running: Behaviour = (request, socket) => {
  const reply = REPLICATE.ends?.running.poll;
  if (!reply) throw new TypeError("a service with jobs");
  return answers(reply, numberIn(request.target))(request, socket);
};

const RETRY_MS = 3000;
const busy = (form: ServiceForm): Behaviour =>
  answers(() => form.error(429, "later", { "retry-after": "3" }));

/** Whether the last step of the only task is of this type. */
const isLast = (world: ProgramWorld, type: string) => async () => (await world.ledger()).open[0] === type;

/** A process that waits out a 429, stopped until its time is over. @param submit the replies after the 429 */
async function stoppedWhileBusy(
  form: ServiceForm,
  submit: Behaviour,
  script: Partial<Record<Part, Behaviour>> = {},
) {
  const made = await paidWorld(form, { submit: inTurn(busy(form), submit), ...script });
  const { world, args, env } = made;
  const { program, end } = await startedWhen(world, isLast(world, "waiting"), args, { env });
  await handlesSignals(program);
  program.kill("SIGSTOP");
  await endHolders(world);
  return { ...made, program, end };
}

describe("a process that is stopped until its time is over, while it waits out a 429", () => {
  it("submits nothing once another one has, and names what has happened: exit 6", async () => {
    let isMade = false;
    const poll: Behaviour = (request, socket) =>
      (isMade ? usual(REPLICATE, "poll") : running)(request, socket);
    const { double, world, env, program, end } = await stoppedWhileBusy(
      REPLICATE,
      usual(REPLICATE, "submit"),
      { poll },
    );
    expect(await world.afterResume(["--generator-paid", "--timeout", "500ms"], { env })).toMatchObject({
      exit: 6,
      open: ["accepted"],
    });
    await pause(RETRY_MS);
    program.kill("SIGCONT");
    const run = await end;
    expect(run.code).toBe(6);
    expect(JSON.parse(run.stdout).error).toMatchObject({
      type: "pending",
      message: expect.stringContaining("has taken over task"),
    });
    expect(double.submits()).toHaveLength(2);
    isMade = true;
    expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject({ exit: 0, open: [] });
    expect(double.submits()).toHaveLength(2);
  });

  it("ends nothing at Ctrl-C, and deletes nothing of the reply that arrives for the other one", async () => {
    let finish = () => {};
    const submit: Behaviour = (request, socket) => {
      const whole = OPENAI.replies.submit?.(`http://${request.headers.host}`, 1) ?? Buffer.alloc(0);
      socket.write(whole.subarray(0, -100));
      finish = () => void socket.write(whole.subarray(-100));
    };
    const { double, world, env, program, end } = await stoppedWhileBusy(OPENAI, submit);
    const isSent = () => double.submits().length === 2;
    const other = await startedWhen(world, isSent, ["resume", "--json", "--generator-paid"], { env });
    program.kill("SIGINT");
    program.kill("SIGCONT");
    await end;
    expect(await world.ledger()).toEqual({ open: ["started"], done: [] });
    finish();
    expect(await world.aftermath(await other.end)).toMatchObject({ exit: 0, open: [], done: ["saved"] });
    expect(await world.files()).toEqual([expect.stringMatching(/\.png$/)]);
    expect(double.submits()).toHaveLength(2);
  });

  it("undoes no submit of the other one: killed then, that is of unknown outcome, and never sent again", async () => {
    const { double, world, env, program, end } = await stoppedWhileBusy(OPENAI, silence);
    const isSent = () => double.submits().length === 2;
    const other = await startedWhen(world, isSent, ["resume", "--json", "--generator-paid"], { env });
    await pause(RETRY_MS);
    program.kill("SIGCONT");
    expect((await end).code).toBe(6);
    await killed(other);
    expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject({
      exit: 9,
      open: ["unknown"],
    });
    expect(double.submits()).toHaveLength(2);
  });
});

describe("an accepted task", () => {
  it("of a process that is stopped until its time is over is resumed; the process ends well once it goes on", async () => {
    let isMade = false;
    const poll: Behaviour = (request, socket) =>
      (isMade ? usual(REPLICATE, "poll") : running)(request, socket);
    const { double, world, args, env } = await paidWorld(REPLICATE, { poll });
    const { program, end } = await startedWhen(world, isLast(world, "accepted"), args, { env });
    program.kill("SIGSTOP");
    await endHolders(world);
    isMade = true;
    expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject({
      exit: 0,
      done: ["saved"],
    });
    program.kill("SIGCONT");
    expect((await end).code).toBe(0);
    expect(await world.files()).toEqual([expect.stringMatching(/\.png$/)]);
    expect(double.submits()).toHaveLength(1);
  });

  it("with an image that waits out a 429 is left to its process while that lives", async () => {
    const submit = inTurn(usual(REPLICATE, "submit"), busy(REPLICATE), usual(REPLICATE, "submit", 3));
    const { double, world, args, env } = await paidWorld(REPLICATE, { submit, poll: running });
    const isBusy = async () => {
      const [lines = []] = await world.records("open");
      return lines.some(({ type, request }) => type === "waiting" && request === 1);
    };
    const started = await startedWhen(world, isBusy, [...args, "--max-images", "2"], { env });
    const run = await world.resume(["--generator-paid"], { env });
    expect(run.code).toBe(6);
    expect(run.stdout).toContain("is working on task");
    expect(double.submits()).toHaveLength(2);
    await killed(started);
  });
});

it("a process that is stopped with its request on the way until its time is over: the id that comes is recorded and printed, and resume saves the image", async () => {
  let answer = () => {};
  const submit: Behaviour = (request, socket) => {
    answer = () => void usual(REPLICATE, "submit")(request, socket);
  };
  const { double, world, args, env } = await paidWorld(REPLICATE, { submit });
  const { program, end } = await startedWhen(world, () => double.submits().length === 1, args, { env });
  program.kill("SIGSTOP");
  await endHolders(world);
  expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject({
    exit: 9,
    open: ["unknown"],
  });
  answer();
  program.kill("SIGCONT");
  const run = await end;
  const { taskId } = JSON.parse(run.stdout);
  expect(taskId).toMatch(/^task_/);
  expect(run.stderr + run.stdout).toContain(taskId);
  const lines = (await Promise.all(["open", "done"].map((where) => world.records(where)))).flat(2);
  expect(lines).toContainEqual(expect.objectContaining({ type: "accepted", taskId: "pred-1" }));
  await world.afterResume(["--generator-paid"], { env });
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
  expect(await world.files()).toEqual([expect.stringMatching(/\.png$/)]);
  expect(double.submits()).toHaveLength(1);
});
