import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyMasker, maskKey, redactUrl } from "../../src/lib/redact.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds } from "../support/holds.ts";

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
    expect(redactUrl(url)).toBe(shown);
  });

  it("never shows a query, a fragment or a password", () => {
    // fast-check's own web addresses take each worker half a second to set up.
    const segments = fc.array(fc.stringMatching(/^([a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2}){0,9}$/));
    const address = fc.tuple(fc.webAuthority(), segments);
    const secret = fc.stringMatching(/^[a-z]{8}$/).map((word) => `SECRET${word}`);
    fc.assert(
      fc.property(address, secret, ([authority, path], word) => {
        const { host, pathname } = new URL(`https://${authority}/${path.join("/")}`);
        const signed = `https://me:${word}@${host}${pathname}?sig=${word}#${word}`;
        expect(redactUrl(signed)).toBe(`https://${host}${pathname}?…`);
      }),
    );
  });
});

it.each([
  ["sk-0123456789abcdefg", "sk-…defg"],
  ["sk-0123456789abcdef", "sk-…"],
  ["sk-", "sk-…"],
  ["", "…"],
  ["0123456789abcdefghij", "…ghij"],
])(
  "of the API key %j are shown the last characters, if it is long enough to stay secret: %j",
  (key, shown) => {
    expect(maskKey(key)).toBe(shown);
  },
);

describe("a text from elsewhere", () => {
  const KEY = "sk-Canary+5f3e/9a7c=1b8d2046";
  const mask = keyMasker(KEY);
  const json = (text: string) =>
    Array.from(text, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  const percent = (text: string) =>
    Array.from(text, (each) => `%${each.charCodeAt(0).toString(16)}`).join("");

  it.each([
    ["as it is", KEY],
    ["in capitals", KEY.toUpperCase()],
    ["in small letters", KEY.toLowerCase()],
    ["percent-encoded where it must be", encodeURIComponent(KEY)],
    ["percent-encoded throughout", percent(KEY)],
    ["percent-encoded throughout, in capitals", percent(KEY.toUpperCase()).toUpperCase()],
    ["percent-encoded twice", encodeURIComponent(encodeURIComponent(KEY))],
    ["with JSON's escapes", json(KEY)],
    ["with some of JSON's escapes", `${json(KEY.slice(0, 9))}${KEY.slice(9)}`],
    ["with its slashes escaped", KEY.replaceAll("/", "\\/")],
  ])("does not show a key that stands in it %s", (_how, written) => {
    expect(mask(`https://cdn.example/${written}/1.png?k=${written}`)).toBe(
      "https://cdn.example/sk-…2046/1.png?k=sk-…2046",
    );
  });

  it("does not show a key that is cut off at its end", () => {
    for (let length = 8; length < KEY.length; length++) {
      expect(mask(`{"echo":"${KEY.slice(0, length)}`)).toBe('{"echo":"sk-…2046');
    }
    expect(mask(`${KEY.slice(0, 12)} and more`)).toBe(`${KEY.slice(0, 12)} and more`);
  });

  it.each(["k", "k+", "sk.x", "sk-1234", "sk-12345", "sk-123456"])(
    "does not show the short key %j",
    (key) => {
      const masked = keyMasker(key)(`${key}: {"echo":"${key.toUpperCase()}"} ${encodeURIComponent(key)}`);
      const mark = maskKey(key);
      expect(masked).toBe(`${mark}: {"echo":"${mark}"} ${mark}`);
    },
  );

  it("stays as it is where no key is in it", () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => mask(text) === text));
    expect(mask("task-1 sk- sk-canary x")).toBe("task-1 sk- sk-canary x");
    expect(keyMasker("")("any")).toBe("any");
  });

  it("never shows a key of any characters, wherever it stands", () => {
    const key = fc.stringMatching(/^sk-[\x21-\x7e\xa1-\xff]{9,60}$/);
    holds(
      fc.property(key, fc.string(), fc.string(), (secret, before, after) => {
        const mask = keyMasker(secret);
        const encoded = encodeURIComponent(secret);
        expect(mask(`${before}${secret}${after}`)).not.toContain(secret);
        expect(mask(`${before}${encoded}${after}`)).not.toContain(encoded);
      }),
      1_000,
    );
  });
});
