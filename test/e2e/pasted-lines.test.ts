import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { png } from "../support/images.ts";
import { listenForTest, liveSockets } from "../support/live-server.ts";
import { finished, startProgram } from "../support/program.ts";
import { shellIn } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A generator of OpenAI's form with two models. */
async function generator() {
  const asked: { model?: string; seed?: number }[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    const models = { data: ["sdxl", "flux"].map((id) => ({ id })) };
    if (incoming.method === "POST") asked.push(JSON.parse(body));
    const data = [{ b64_json: png(asked.length).toString("base64") }];
    const reply = incoming.method === "POST" ? { created: 1, data } : models;
    outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
  });
  return { url: `http://127.0.0.1:${await listenForTest(server)}/v1`, asked };
}

/** `imggen serve`, once it has printed its lines. */
async function serve(args: readonly string[]) {
  const env = { IMGGEN_HOME: await temporaryFolder() };
  const program = startProgram(["serve", ...args], { env });
  const end = finished(program);
  onTestFinished(async () => {
    program.kill("SIGKILL");
    await end;
  });
  let lines = "";
  for await (const chunk of program.stdout ?? []) {
    lines += String(chunk);
    if (lines.split("\n").length > 4) break;
  }
  return lines;
}

/** A shell of another home, in which lines were pasted. */
async function shellWith(lines: string) {
  const folder = await temporaryFolder();
  const shell = await shellIn(folder, "http://127.0.0.1:1/api");
  const run = (line: string) => shell.run(`${lines}\n${line}`);
  const json = async (line: string) => JSON.parse((await run(`${line} --json`)).stdout);
  /** The document of a command that fails. */
  const refused = async (line: string) =>
    JSON.parse((await run(`${line} --json`).then(String, ({ stdout }) => stdout)) as string);
  return { run, json, refused };
}

it("the lines that a server prints work when pasted: its model is used, its models are listed, its words are shown", async () => {
  const { url, asked } = await generator();
  const lines = await serve(["--generator", url, "--generator-model", "sdxl"]);
  const port = Number(/:(\d+)\/api$/m.exec(lines)?.[1]);
  const key = /^export IMGGEN_API_KEY=(sk-serve-[\da-f]{64})$/m.exec(lines)?.[1];
  expect(lines.trim().split("\n")).toEqual([
    `export IMGGEN_BASE_URL=http://127.0.0.1:${port}/api`,
    `export IMGGEN_API_KEY=${key}`,
    `export OPENAI_BASE_URL=http://127.0.0.1:${port}/v1`,
    `export OPENAI_API_KEY=${key}`,
  ]);
  const { run, json, refused } = await shellWith(lines);
  expect((await run("imggen models")).stdout).toBe("sdxl\nflux\n");
  expect(await json("imggen models flux")).toMatchObject([{ id: "flux", credits: null, ratios: null }]);
  const free = { charged: "no", credits: 0 };
  expect(await json("imggen generate 'a fox' --max-credits 0")).toMatchObject(free);
  expect(await json("imggen generate 'a hare' -m flux --seed 7")).toMatchObject(free);
  expect(asked).toMatchObject([{ model: "sdxl" }, { model: "flux", seed: 7 }]);
  await run(`printf '%s\\n' ${"owl cat dog ".repeat(5)} | sort | head -n 13 > p.txt`);
  await run("imggen batch p.txt -o out");
  expect(asked.slice(2).map(({ model }) => model)).toEqual(Array.from({ length: 13 }, () => "sdxl"));
  await json("imggen compare 'a cow' -m sdxl,flux -o compared");
  expect(new Set(asked.slice(15).map(({ model }) => model))).toEqual(new Set(["sdxl", "flux"]));

  expect((await refused("imggen generate 'a fox' -m nope")).error.message).toContain(
    "the generator does not have this model",
  );
  const message = "The service rejected the request (HTTP 400): ";
  expect((await refused("imggen generate 'a fox' -m nope --no-validate")).error.message).toMatch(
    `${message}openai:${url} has no model "nope". It has: sdxl, flux.`,
  );
  const listed = await run(`curl -s "$OPENAI_BASE_URL/models" -H "Authorization: Bearer $OPENAI_API_KEY"`);
  expect(listed.stdout).toContain("sdxl");
  // A key that an earlier release has printed.
  const earlier = `export IMGGEN_API_KEY=${key?.replace("serve-", "")}`;
  const elk = await json(`${earlier}; imggen generate 'an elk' -m sdxl --no-validate`);
  expect(elk).toMatchObject({ ok: true });
});

it("the model of the config is that of another service, and what a paid generator costs is not documented", async () => {
  const { url, asked } = await generator();
  const served = await serve(["--generator", url, "--generator-model", "sdxl", "--generator-paid"]);
  const { run, json, refused } = await shellWith(served);
  await run("env -u IMGGEN_API_KEY -u IMGGEN_BASE_URL imggen config set model gamma-image-2");
  expect(await json("imggen generate 'a fox'")).toMatchObject({ charged: "yes", credits: null });
  expect((await refused("imggen generate 'a hare' --max-credits 5")).error.type).toBe("budget_exceeded");
  expect(asked).toMatchObject([{ model: "sdxl" }]);
});

it("a dry run opens no connection, and says that the model is the server's", async () => {
  let connections = 0;
  const port = await liveSockets((socket) => {
    connections += 1;
    socket.destroy();
  });
  const lines = (key: string) =>
    `export IMGGEN_BASE_URL=http://127.0.0.1:${port}/api\nexport IMGGEN_API_KEY=${key}`;
  const server = await shellWith(lines("sk-serve-1"));
  const { stdout } = await server.run("imggen generate 'a fox' --dry-run");
  expect(stdout).toContain("model: the server's default");
  const dry = await server.json("imggen generate 'a fox' --dry-run");
  expect(dry.sent).toEqual({ method: "POST", url: "/generate-image", body: { prompt: "a fox" } });
  await server.run("printf 'owl\\ncat\\n' > p.txt; imggen batch p.txt --dry-run");
  const service = await shellWith(lines("sk-other"));
  await service.run("imggen models; imggen generate 'a fox' --dry-run");
  expect(connections).toBe(0);
  expect((await server.refused("imggen models")).error.type).toBe("network");
  expect(connections).toBe(1);
});
