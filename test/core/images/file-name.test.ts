import { describe, expect, it } from "vitest";
import {
  DEFAULT_TEMPLATE,
  type NameFacts,
  numberedPath,
  promptSlug,
  renderName,
  safeName,
  templateProblem,
} from "../../../src/core/images/file-name.ts";
import { escapeControls } from "../../../src/lib/escape.ts";
import { COMMAND_VOCABULARY, formatWording } from "../../../src/lib/wording.ts";
import { words } from "../../support/words.ts";

const FACTS: NameFacts = {
  request: { prompt: "A fox, at dawn!", model: "vendor1/alpha-2", ratio: "16:9", quality: "2K" },
  taskId: "task-0123456789ab",
  index: 2,
  seed: "18446744073709551615",
  extension: "png",
  date: new Date(2026, 0, 31, 7, 8, 9),
};

describe("a name's template", () => {
  it("leaves out a seed that is not known, and the model of a generator that has but one", () => {
    const request = { prompt: "a fox", model: "default" };
    const name = renderName("{slug}-{model}-{seed}-{index}", { ...FACTS, request, seed: null });
    expect(name).toBe("a-fox-2.png");
  });

  it.each([
    [DEFAULT_TEMPLATE, "a-fox-at-dawn-456789ab.png"],
    ["{slug}", "a-fox-at-dawn.png"],
    ["{model}_{ratio}_{quality}", "vendor1-alpha-2_16x9_2K.png"],
    ["{slug}-{seed}", "a-fox-at-dawn-18446744073709551615.png"],
    ["{index}-{date}-{time}.{ext}", "2-2026-01-31-070809.png"],
    ["{task}{task}", "456789ab456789ab.png"],
    ["fixed", "fixed.png"],
    ["fixed.png", "fixed.png"],
    ["fixed.JPEG", "fixed.JPEG"],
    ["v1.5", "v1.5.png"],
    ["{slug}.webp", "a-fox-at-dawn.webp"],
    ["a {slug} b", "a a-fox-at-dawn b.png"],
  ])("%j makes %j", (template, name) => {
    expect(templateProblem(template)).toBeNull();
    expect(renderName(template, FACTS)).toBe(name);
  });

  it.each([
    ["{slug}-{model}-{ratio}-{quality}-{task}.{ext}", "a-fox-z-image-456789ab.png"],
    ["{ratio}_{slug}", "a-fox.png"],
    ["{quality} {slug}_{ratio}.{ext}", "a-fox.png"],
    ["_{slug}{ratio}", "_a-fox.png"],
    ["{ratio}{quality}", "image.png"],
  ])("%j has no place for a ratio or a quality that is not set: %j", (template, name) => {
    expect(renderName(template, { ...FACTS, request: { prompt: "a fox", model: "z-image" } })).toBe(name);
  });

  it("is filled in where nothing is known of a task", () => {
    const facts = { ...FACTS, request: null };
    expect(renderName("{slug}-{model}-{ratio}-{quality}", facts)).toBe("image-model.png");
  });

  it.each([...words("a/b a\\b ../{slug} a\0b {nope} {Slug} {} {slug}-{constructor}"), "{slug}\n", "", "   "])(
    "%j is refused",
    (template) => {
      expect(formatWording(templateProblem(template) ?? "", COMMAND_VOCABULARY)).toMatch(/./);
    },
  );
});

describe("a prompt's slug", () => {
  it.each([
    ["A fox", "a-fox"],
    ["  --A  fox!! ", "a-fox"],
    ["../../etc/passwd", "etc-passwd"],
    ["Füchse im Schnee", "füchse-im-schnee"],
    ["cafe\u0301", "café"],
    ["狐と雪", "狐と雪"],
    ["🦊🦊", "image"],
    ["...", "image"],
    ["", "image"],
    ["a\u202eb\u200bc", "abc"],
    ["\u001b[31mred", "31mred"],
  ])("of %j is %j", (prompt, slug) => {
    expect(promptSlug(prompt)).toBe(slug);
  });
});

describe("a file's name", () => {
  it.each([
    ["con.png", "_con.png"],
    ["CON", "_CON"],
    ["nul.tar.png", "_nul.tar.png"],
    ["com1.png", "_com1.png"],
    ["console.png", "console.png"],
    [".hidden.png", "hidden.png"],
    ["-rf.png", "rf.png"],
    [' <a>:"b|?*.png', "a---b---.png"],
    ["a\u202egnp.exe", "agnp.exe"],
    ["name. . ", "name"],
    ["...", "image"],
    ["", "image"],
  ])("%j is made safe as %j", (name, safe) => {
    expect(safeName(name)).toBe(safe);
  });

  it("is cut between characters, not within one", () => {
    const name = renderName("{slug}{slug}{slug}", {
      ...FACTS,
      request: { prompt: "漢".repeat(60), model: "m" },
    });
    expect(name).toMatch(/^漢+\.png$/);
    expect(Buffer.byteLength(name)).toBeGreaterThan(240);
  });
});

describe("the n-th of equal names", () => {
  it.each([
    ["/a/name.png", 1, "/a/name.png"],
    ["/a/name.png", 2, "/a/name-2.png"],
    ["/a.b/name", 13, "/a.b/name-13"],
    ["/a/v1.5.png", 3, "/a/v1.5-3.png"],
  ])("%s, %i is %s", (file, number, numbered) => {
    expect(numberedPath(file, number)).toBe(numbered);
  });
});

it.each([".png", ".{ext}"])("the template %s makes a name with an extension", (template) => {
  expect(safeName(template.replace("{ext}", "png"))).toBe("image.png");
});

it("an unknown placeholder is refused with the ones there are, unless a manifest's column may have that name", () => {
  const known = "{slug} {model} {ratio} {quality} {seed} {task} {index} {date} {time} {ext}";
  expect(templateProblem("{colour}.png")).toBe(`{colour} is unknown; the placeholders are ${known}`);
  expect(templateProblem("{colour}.png", true)).toBeNull();
});

describe("a name is made of what is seen", () => {
  const HIDDEN = [
    "\u{fe0f}",
    "\u{200d}",
    "\u{200c}",
    "\u{200e}",
    "\u{202e}",
    "\u{2066}",
    "\u{ad}",
    "\u{feff}",
    "\u{3164}",
    "\u{e0101}",
    "\u{e0041}",
  ];

  it.each(HIDDEN.map((each) => [`U+${each.codePointAt(0)?.toString(16)}`, each]))(
    "without %s",
    (_name, hidden) => {
      expect(promptSlug(`a f${hidden}ox${hidden} red`)).toBe("a-fox-red");
      expect(safeName(`a f${hidden}ox${hidden}.png`)).toBe("a fox.png");
    },
  );

  it("and holds nothing that a terminal would be shown escaped", () => {
    const name = renderName("\u{1f469}\u{200d}\u{1f680} \u{2764}\u{fe0f} {slug}", {
      ...FACTS,
      request: { prompt: "\u{2764}\u{fe0f} 1\u{fe0f}\u{20e3} fox\u{fff9}", model: "z-image" },
    });
    expect(name).toBe("\u{1f469}\u{1f680} \u{2764} 1\u{20e3}-fox.png");
    expect(escapeControls(name)).toBe(name);
  });
});
