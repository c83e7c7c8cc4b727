import { describe, expect, it } from "vitest";
import { isGalleryPage, type PageImage, renderGalleryPage } from "../../src/gallery/page.ts";

const IMAGE: PageImage = {
  id: "0a1b2c3d4e5f",
  file: "fox.png",
  thumbnail: "gallery-thumbnails/fox.webp",
  name: "fox.png",
  width: 64,
  height: 48,
  date: "2026-01-31T12:00:00.000Z",
  prompt: "a fox",
  model: "z-image",
  ratio: null,
  quality: null,
  settings: {},
  credits: 2,
  task: "task-1",
  command: "imggen generate 'a fox'",
};

/** What a browser's parser makes of the page's data. */
const dataOf = (html: string) =>
  /<script type="application\/json" id="images">(.*?)<\/script>/s.exec(html)?.[1];

describe("a gallery's page", () => {
  it.each(["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u2028", '"\\', "$&", "🦊\ud800"])(
    "holds the prompt %j as data",
    (prompt) => {
      const html = renderGalleryPage("foxes", [{ ...IMAGE, prompt }]);
      expect(JSON.parse(dataOf(html) ?? "")).toEqual([{ ...IMAGE, prompt }]);
      expect(html.match(/<script/g)).toHaveLength(2);
    },
  );

  it("has its title escaped", () => {
    const html = renderGalleryPage(`</title><script>&'"`, []);
    const escaped = "&#60;/title&#62;&#60;script&#62;&#38;&#39;&#34;";
    expect(html).toContain(`<title>${escaped}</title>`);
    expect(html).toContain(`<h1>${escaped}</h1>`);
  });

  it("may load images alone, and run its own script alone", () => {
    const [, policy = ""] =
      /Content-Security-Policy" content="([^"]*)"/.exec(renderGalleryPage("", [])) ?? [];
    expect(policy.split("; ").map((each) => each.split(" ")[0])).toEqual(
      "default-src img-src style-src script-src base-uri form-action".split(" "),
    );
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|unsafe|\*/);
  });

  it("is known again, and no other page is taken for it", () => {
    expect(isGalleryPage(renderGalleryPage("foxes", []))).toBe(true);
    expect(isGalleryPage('<meta name="generator" content="other gallery">')).toBe(false);
  });
});
