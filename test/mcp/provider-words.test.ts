import { describe, expect, it } from "vitest";
import { generatorWorld } from "../support/generator-world.ts";
import { runCommand } from "../support/in-process.ts";
import { failure, json } from "../support/scripted-server.ts";
import { replies } from "../support/scripts.ts";
import { agent, FOX, mcpFolders, serviceAgent } from "./mcp-world.ts";

/** Sentences of a provider that look like ones about imggen's command line. */
const WORDS = [
  "the value of --steps must be at least 4",
  "Run imggen login again --now, or ask imggen models foo",
  "--seed is not supported. Try running it again",
];

describe("the words of a provider reach an agent unchanged", () => {
  it.each(WORDS)("of a service: %s", async (words) => {
    const { call } = await serviceAgent({ submit: replies(failure(words)) });
    const { isError, document } = await call("generate_image", FOX);
    expect({ isError, ...document.error }).toMatchObject({
      isError: true,
      key: words,
      message: `The service refused the request with the error "${words}".`,
      hint: expect.stringContaining("Nothing was charged."),
    });
  });

  it.each(WORDS)("of a generator, as on the command line: %s", async (words) => {
    const { generator } = await generatorWorld(replies(json({ error: { message: words } }, 400)));
    const folders = await mcpFolders();
    const flags = ["--generator", generator.origin];
    const shown = await runCommand(["generate", "a fox", "--json", ...flags], folders);
    const { call } = await agent({ ...folders, flags });
    const { isError, document } = await call("generate_image", { prompt: "a fox" });
    expect({ isError, message: document.error?.message }).toMatchObject({
      isError: true,
      message: expect.stringContaining(words.replace(/\.$/, "")),
    });
    expect(document.error?.message).toBe(JSON.parse(shown.stdout).error.message);
  });
});
