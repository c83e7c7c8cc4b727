import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskKey, withoutQuery } from "../../src/lib/redact.ts";

describe("a URL for people", () => {
  it.each([
    ["https://cdn.example/a.png", "https://cdn.example/a.png"],
    ["https://cdn.example/a.png?sig=secret", "https://cdn.example/a.png?…"],
    ["https://cdn.example/a.png#secret", "https://cdn.example/a.png"],
    ["https://cdn.example/a.png?a=1#secret", "https://cdn.example/a.png?…"],
    ["https://user:secret@cdn.example:8443/a.png", "https://cdn.example:8443/a.png"],
    ["data:image/png;base64,AA?secret", "data:image/png;base64,AA?…"],
    ["no url at all", "no url at all"],
    ["/a.png?sig=secret#secret", "/a.png"],
    ["not a url#secret?secret", "not a url"],
    ["https://me:secret@ho st/a.png?sig=secret", "https://ho st/a.png"],
    ["", ""],
  ])("%j is shown as %j", (url, shown) => {
    expect(withoutQuery(url)).toBe(shown);
  });

  it("never shows a query, a fragment or a password", () => {
    const secret = fc.stringMatching(/^[a-z]{8}$/).map((word) => `SECRET${word}`);
    fc.assert(
      fc.property(fc.webUrl(), secret, (url, word) => {
        const { host, pathname } = new URL(url);
        const signed = `https://me:${word}@${host}${pathname}?sig=${word}#${word}`;
        expect(withoutQuery(signed)).toBe(`https://${host}${pathname}?…`);
      }),
    );
  });
});

describe("an API key for people", () => {
  it("shows its last four characters where it is long enough to stay secret", () => {
    expect(maskKey("sk-0123456789abcdefg")).toBe("sk-…defg");
  });

  it("shows nothing of a shorter one", () => {
    expect(maskKey("sk-0123456789abcdef")).toBe("sk-…");
    expect(maskKey("sk-")).toBe("sk-…");
    expect(maskKey("")).toBe("sk-…");
  });
});
