import { describe, expect, it } from "vitest";
import { escapeControls, escapeJson } from "../../src/lib/escape.ts";

describe("text for one line of a terminal", () => {
  it.each([
    ["a\nb\r\tc", "a\\nb\\r\\tc"],
    ["\x1b[31mred\x1b]8;;http://x\x07", "\\x1b[31mred\\x1b]8;;http://x\\x07"],
    ["\0\x7f\x9b", "\\x00\\x7f\\x9b"],
    ["abc\u202edcba", "abc\\u{202e}dcba"],
    ["pay\u200bpal\ufeff", "pay\\u{200b}pal\\u{feff}"],
    ["one\u2028two", "one\\u{2028}two"],
    ["half \ud83d", "half \\u{d83d}"],
    ["tag \u{e0041}", "tag \\u{e0041}"],
    ["soft\u00adhyphen", "soft\\xadhyphen"],
  ])("shows %j as %j", (text, shown) => {
    expect(escapeControls(text)).toBe(shown);
  });

  it.each([
    "a red fox, 3 × 5",
    "größe 日本語 العربية עברית",
    "🦊 ❤️ 1️⃣ 🇫🇷",
    "back\\slash",
    "no\u00a0break",
    "",
  ])("leaves %j as it is", (text) => {
    expect(escapeControls(text)).toBe(text);
  });

  it("keeps a variation selector only where it belongs to an emoji", () => {
    expect(escapeControls("a\ufe0f")).toBe("a\\u{fe0f}");
    expect(escapeControls("1\ufe0f2")).toBe("1\\u{fe0f}2");
    expect(escapeControls("❤\ufe0f\ufe0f")).toBe("❤\ufe0f\\u{fe0f}");
    expect(escapeControls("❤\ufe0e")).toBe("❤\\u{fe0e}");
  });
});

describe("JSON for a terminal", () => {
  it("writes what would act or hide as escapes", () => {
    expect(escapeJson(JSON.stringify("a\u202e\x7f\x9b\u2028\u{e0041}"))).toBe(
      '"a\\u202e\\u007f\\u009b\\u2028\\udb40\\udc41"',
    );
  });

  it("leaves indentation as it is", () => {
    const json = JSON.stringify({ a: ["é", "日本"] }, null, "\t");
    expect(escapeJson(json)).toBe(json);
  });
});
