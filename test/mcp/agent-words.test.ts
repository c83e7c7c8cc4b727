import { describe, expect, it } from "vitest";
import {
  action,
  COMMAND_VOCABULARY,
  formatWording,
  isWording,
  type OptionName,
  option,
  phrase,
} from "../../src/lib/wording.ts";
import { AGENT_WORDS } from "../../src/mcp/agent-words.ts";

const inWords = (...parts: Parameters<typeof phrase>) => formatWording(phrase(...parts), AGENT_WORDS);
const names = Object.keys(COMMAND_VOCABULARY.options) as OptionName[];

describe("the words for agents", () => {
  it.each(names)("name no flag for the option %s: an argument of a tool, or no sentence at all", (name) => {
    const sentence = inWords`Raise ${option(name)} to go on.`;
    const word = AGENT_WORDS.options[name];
    expect(sentence).toBe(word === null ? "" : `Raise ${word} to go on.`);
    expect(sentence).not.toMatch(/(?:^|\s)--?[a-z]/);
  });

  it("name a tool for what an agent can do, and its task as data", () => {
    expect(inWords`To finish it: ${action("resume", 'a"b')}`).toBe(
      'To finish it: call get_task with taskId "a\\"b"',
    );
    expect(inWords`${action("resume")}.`).toBe("Call resume_tasks.");
    expect(inWords`${action("models", "--ratio 21:9")}.`).toBe("Call list_models.");
    expect(inWords`${action("history")}.`).toBe("Call history.");
    expect(inWords`To submit it again: ${action("rerun", "t", false)}`).toBe(
      "To submit it again: call generate_image with the same arguments and reuse: false",
    );
  });

  it("name no command for an agent to run: the user is to be asked, or the sentence is left out", () => {
    expect(inWords`To find servers: ${action("run", "setup")}`).toBe(
      "To find servers: ask the user to run imggen setup",
    );
    expect(inWords`To dismiss it: ${action("dismiss", "t")}`).toBe("To dismiss it: ask the user");
    expect(inWords`${action("setApiKey")}`).toMatch(/^Ask the user to run imggen login/);
    expect(inWords`More: ${action("help", "generators")}`).toBe("");
  });
});

describe("a stored wording", () => {
  it.each([
    ["a text", "Nothing was charged."],
    ["sentences", ["One.", phrase`${action("resume", "t")}, ${option("model")}, ${2}, ${phrase`${"x"}`}`]],
  ])("is one that JSON gives back: %s", (_what, wording) => {
    const stored = JSON.parse(JSON.stringify(wording));
    expect([isWording(stored), formatWording(stored, AGENT_WORDS)]).toEqual([
      true,
      formatWording(wording, AGENT_WORDS),
    ]);
  });

  it.each([
    ["an option that no face has", { texts: ["", ""], parts: [{ option: "toString" }] }],
    ["an action that no face has", { texts: ["", ""], parts: [{ action: "constructor", data: [] }] }],
    ["an action without data", { texts: ["", ""], parts: [{ action: "resume" }] }],
    ["data of another type", { texts: ["", ""], parts: [{ action: "resume", data: [{}] }] }],
    ["texts that are none", { texts: [1], parts: [] }],
    ["a number", 7],
    ["null", [null]],
  ])("is not %s", (_what, value) => {
    expect(isWording(value)).toBe(false);
  });
});
