import { expect, it } from "vitest";
import { readDirectives } from "../../src/sandbox/submit.ts";

it.each(["fail", "no-credits", "subscription", "429", "500", "drop", "truncate", "html", "expired"])(
  "[sandbox:%s] is read and taken out of the prompt",
  (word) => {
    const directives = readDirectives(`a fox [sandbox:${word}]`);
    expect([...directives.faults]).toEqual([word]);
    expect(directives).toMatchObject({ prompt: "a fox", slowMs: null, unknown: null });
  },
);

it.each([
  ["[sandbox:fail] a red fox [sandbox:slow=2s] in the snow[sandbox:html]", "a red fox in the snow"],
  ["[sandbox:fail][sandbox:html][sandbox:slow=2s]", ""],
  ["a fox\n[sandbox:slow=2s]\n[sandbox:html] [sandbox:fail]", "a fox"],
])("directives may stand anywhere and be combined: %j", (prompt, rest) => {
  const directives = readDirectives(prompt);
  expect([...directives.faults].sort()).toEqual(["fail", "html"]);
  expect(directives).toMatchObject({ prompt: rest, slowMs: 2000 });
});

it("the blanks within a prompt are left as they are where no directive stands", () => {
  expect(readDirectives("two  foxes,\none  tree").prompt).toBe("two  foxes,\none  tree");
});

it("of two times the first counts", () => {
  expect(readDirectives("[sandbox:slow=250ms] a fox [sandbox:slow=9h]").slowMs).toBe(250);
});

it.each(["[sandbox:fial]", "[sandbox:slow=soon]", "[sandbox:]", "[sandbox:FAIL]", "[sandbox:constructor]"])(
  "%s is no directive: it stays in the prompt and is told of",
  (text) => {
    const directives = readDirectives(`a fox ${text}`);
    expect(directives).toMatchObject({ prompt: `a fox ${text}`, slowMs: null, unknown: text });
    expect(directives.faults.size).toBe(0);
  },
);

it.each([
  ["blanks", " ".repeat(200_000)],
  ["openings", "[sandbox:".repeat(22_222)],
])("a prompt of nothing but %s is read in linear time", (_, prompt) => {
  const start = performance.now();
  expect(readDirectives(prompt).faults.size).toBe(0);
  expect(performance.now() - start).toBeLessThan(20_000);
});
