import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import type { Client, TaskFailure } from "../../src/client/index.ts";
import { taskIs } from "../support/scripts.ts";
import { clientWorld, failureOf } from "./client-world.ts";

const FOX = { prompt: "a fox", model: "gamma-image-2", quality: "1K" } as const;
const NO_PROMPT: object = { model: "z-image" };
const UNDOCUMENTED = { prompt: "a fox", model: "vendor1/alpha" };

/** Fails where a message names a flag of the command line. Commands of imggen may have theirs. */
function textOf({ error }: Pick<TaskFailure, "error">): string {
  const text = `${error.message}\n${error.hint}`;
  expect(text.replace(/imggen [a-z]+.*$/gm, "")).not.toMatch(/(^|\s)--?[a-z]/m);
  return text;
}

async function generateAll(client: Client, rows: readonly object[], options: object): Promise<void> {
  for await (const _row of client.batch(rows as [], options));
}

it.each<[string, string[], (client: Client, output: string) => Promise<unknown>]>([
  ["a budget", ["and maxCredits is 1"], (c, output) => c.generate({ ...FOX, output, maxCredits: 1 })],
  [
    "a budget without a documented cost",
    ["maxCredits cannot be enforced", "add validate: false."],
    (c, output) => c.generate({ ...UNDOCUMENTED, output, maxCredits: 1 }),
  ],
  [
    "a batch's budget",
    ["and maxCredits is 3"],
    (c, output) => generateAll(c, [FOX, FOX], { output, maxCredits: 3 }),
  ],
  [
    "a batch's budget without a documented cost",
    ["maxCredits cannot be enforced", "add validate: false."],
    (c, output) => generateAll(c, [UNDOCUMENTED], { output, maxCredits: 3 }),
  ],
  ["an unknown model", ["add validate: false"], (c) => c.generate({ ...FOX, model: "gamma-image-3" })],
  [
    "an unknown model of a row",
    ["add validate: false"],
    (c, output) => generateAll(c, [{ ...FOX, model: "gamma-image-3" }], { output }),
  ],
  ["a path in a name", ['name "a/b"', "; output names"], (c) => c.generate({ ...FOX, name: "a/b" })],
  [
    "a NUL in a batch's output",
    ["output contains a NUL character"],
    (c) => generateAll(c, [FOX], { output: "a\0b" }),
  ],
  ["a path in a batch's name", ["; output names"], (c) => generateAll(c, [FOX], { name: "a/b" })],
  [
    "a name beside a file",
    ["write output x.png/"],
    (c) => c.generate({ ...FOX, output: "x.png", name: "a" }),
  ],
  ["standard output", ["output must be"], (c) => c.generate({ ...FOX, output: "-" })],
  ["no prompt", ["Nothing was sent."], (c) => c.generate(NO_PROMPT as typeof FOX)],
])("a failure over %s names the client's options", async (_what, words, call) => {
  const { client, output, server } = await clientWorld();
  const text = textOf(await failureOf(call(client(), output)));
  for (const each of words) expect(text).toContain(each);
  expect(server.submits()).toEqual([]);
});

it("a file that exists is to be replaced with overwrite: true", async () => {
  const { client, home } = await clientWorld();
  const output = path.join(home, "fox.png");
  await writeFile(output, "");
  const text = textOf(await failureOf(client().generate({ ...FOX, output })));
  expect(text).toContain("Choose another output. To replace it, add overwrite: true.");
});

it("a client without an account is told how createClient is given one", async () => {
  const { client, output } = await clientWorld();
  const without = (options: object) => failureOf(client(options).generate({ ...FOX, output }));
  const noUrl = textOf(await without({ baseUrl: undefined }));
  expect(noUrl).toContain("Give createClient a baseUrl");
  expect(noUrl).toContain("createClient({ sandbox: true })");
  expect(textOf(await without({ apiKey: undefined }))).toContain("Give createClient an apiKey");
});

it("a task of the service is out of reach with sandbox: true", async () => {
  const { client, output, home } = await clientWorld();
  const { taskId } = await client().generate({ ...FOX, output, wait: false });
  const sandbox = client({ sandbox: true, baseUrl: undefined, apiKey: undefined, home });
  const status = await sandbox.status(taskId ?? "");
  expect(status.ok ? "" : textOf(status)).toContain("Omit sandbox: true.");
});

it("a failed row of a batch is submitted again with retryFailed: true", async () => {
  const { client, output } = await clientWorld({ poll: taskIs({ status: "failed", errorCode: 1001 }) });
  const hints: string[] = [];
  for await (const row of client().batch([FOX], { output, pollIntervalMs: 100 }))
    hints.push(row.ok ? "" : textOf(row));
  expect(hints).toEqual([expect.stringContaining("use retryFailed: true or")]);
});
