import { describe, expect, it } from "vitest";
import { answers } from "../../support/doubles/double.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";

const KEY = "secret-key-1";
const ELSEWHERE = { IMGGEN_GENERATOR: undefined, IMGGEN_GENERATOR_KEY: undefined };

/** The variables that a message names. */
const namedIn = (document: unknown) => JSON.stringify(document).match(/[A-Z]+_[A-Z_]*(?:KEY|TOKEN)/g) ?? [];

/** A service that accepts nothing without the right key. */
async function lockedService(keyOfTask: string | undefined) {
  const isOpen = { is: true };
  const refuse = answers(() => FAL.error(401, "no key"));
  const locked = (part: "submit" | "poll") => {
    const usual = answers(FAL.replies[part] ?? (() => Buffer.alloc(0)));
    return (...[request, socket]: Parameters<typeof usual>) => {
      const isRight = (request.headers.authorization ?? "").includes(KEY);
      return (isOpen.is || isRight ? usual : refuse)(request, socket);
    };
  };
  const world = await paidService(FAL, { submit: locked("submit"), poll: locked("poll") });
  const env = { IMGGEN_GENERATOR_KEY: keyOfTask };
  expect((await world.json([...world.generate, "--no-wait"], { env })).code).toBe(0);
  const [id = ""] = await openTasks(world.home);
  isOpen.is = false;
  return { ...world, id };
}

describe("a variable for a key is named only if imggen sends it to that address", () => {
  it.each<[string, string | undefined, string, Record<string, string | undefined>, string[]]>([
    [
      "a new request without a key",
      undefined,
      "generate",
      { IMGGEN_GENERATOR_KEY: undefined },
      ["IMGGEN_GENERATOR_KEY"],
    ],
    [
      "a new request with a wrong key",
      undefined,
      "generate",
      { IMGGEN_GENERATOR_KEY: "wrong" },
      ["IMGGEN_GENERATOR_KEY"],
    ],
    [
      "a task of the generator in effect",
      KEY,
      "resume",
      { IMGGEN_GENERATOR_KEY: undefined },
      ["IMGGEN_GENERATOR_KEY"],
    ],
    [
      "a task without a key, of the generator in effect",
      undefined,
      "resume",
      { IMGGEN_GENERATOR_KEY: undefined },
      ["IMGGEN_GENERATOR_KEY"],
    ],
    ["a task of another generator", KEY, "resume", ELSEWHERE, ["IMGGEN_GENERATOR_KEY"]],
    ["its status", KEY, "status", ELSEWHERE, ["IMGGEN_GENERATOR_KEY"]],
    ["a task without a key, of another generator", undefined, "resume", ELSEWHERE, []],
    ["its status too", undefined, "status", ELSEWHERE, []],
    ["a task of another key", KEY, "resume", { IMGGEN_GENERATOR_KEY: "another" }, ["IMGGEN_GENERATOR_KEY"]],
  ])("%s", async (_what, keyOfTask, command, env, named) => {
    const { json, double, generate, id } = await lockedService(keyOfTask);
    const args = command === "generate" ? [...generate, "--again"] : [command, id];
    const { code, document } = await json(args, { env });
    expect(code).not.toBe(0);
    expect([...new Set(namedIn(document))]).toEqual(named);
    const before = double.requests.length;
    const advised = await json(args, { env: { ...env, IMGGEN_GENERATOR_KEY: KEY } });
    const sent = double.requests.slice(before).map(({ headers }) => headers.authorization ?? "");
    expect([advised.code, sent.some((each) => each.includes(KEY))]).toEqual(
      named.length > 0 ? [0, true] : [code, false],
    );
  });

  it("a stored key of another account does not go before the one of the task's", async () => {
    const { json, run, double, id } = await lockedService(KEY);
    const login = ["login", "--generator", double.spec, "--no-verify"];
    expect((await run(login, { env: ELSEWHERE, input: "another" })).code).toBe(0);
    await run(["config", "unset", "generator"], { env: ELSEWHERE });
    const env = { ...ELSEWHERE, IMGGEN_GENERATOR_KEY: KEY };
    expect((await json(["resume", id], { env: ELSEWHERE })).document.error?.hint).toContain(
      "IMGGEN_GENERATOR_KEY",
    );
    expect((await json(["resume", id], { env })).code).toBe(0);
  });
});
