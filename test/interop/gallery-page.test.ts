import { writeFile } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type PageImage, renderGalleryPage } from "../../src/gallery/page.ts";
import { writeImage } from "../support/gallery-world.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { hasTool, mustHaveTool } from "../support/tools.ts";

/** Where tests decide, the browser must be there. */
const hasBrowser = hasTool("chromium") || (platform() === "linux" && mustHaveTool("chromium"));
if (!hasBrowser) console.warn("The gallery's page is not tested in a browser: chromium is not installed.");

const NOTHING = { prompt: null, model: null, ratio: null, quality: null };
const HOSTILE = `</script><script>window.hit = 1</script><img src=x onerror="window.hit = 1"> & "quotes"`;

const model = "gamma-image-2";

/** Six images: three of one task, a hostile prompt, and one of which nothing is known. */
const IMAGES: PageImage[] = [
  image(0, { prompt: "a red fox", model, ratio: "1:1", quality: "1K", credits: 2, task: "task-1" }),
  image(1, { prompt: "a red hare", model, ratio: "16:9", quality: "4K", credits: 8, task: "task-2" }),
  image(2, { prompt: HOSTILE, model: "z-image", ratio: "16:9", task: "task-3" }),
  image(3, { prompt: "owls", model: "vendor2/beta-v4", credits: 5, task: "task-4" }),
  image(4, { prompt: "owls", model: "vendor2/beta-v4", credits: 5, task: "task-4" }),
  image(5, {}),
];

function image(number: number, facts: Partial<PageImage>): PageImage {
  const command = facts.prompt ? `imggen generate '${facts.prompt}'` : null;
  return {
    id: `image-${number}`,
    file: `${number}%20image.png`,
    thumbnail: `${number}%20image.png`,
    name: `${number} image.png`,
    width: 64,
    height: 64,
    date: `2026-01-0${(number % 9) + 1}T12:00:00.000Z`,
    ...NOTHING,
    settings: {},
    credits: null,
    task: null,
    command,
    ...facts,
  };
}

describe.skipIf(!hasBrowser)("the gallery's page in Chromium", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  }, 60_000);
  afterAll(() => browser?.close());

  async function pageFile(images: readonly PageImage[]): Promise<string> {
    const folder = await temporaryFolder();
    for (const { name } of IMAGES) await writeImage(path.join(folder, name), "teal");
    const page = path.join(folder, "gallery.html");
    await writeFile(page, renderGalleryPage("pictures & <more>", images));
    return page;
  }

  /** Opens the page from the disk. */
  async function loaded(options: BrowserContextOptions = {}, images = IMAGES): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await page.goto(pathToFileURL(await pageFile(images)).href);
    return page;
  }

  /** As `loaded`. It must not complain, ask the network for anything, or be hit by a prompt. */
  async function opened(options: BrowserContextOptions = {}, images = IMAGES): Promise<Page> {
    const page = await loaded(options, images);
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      if (!/^(file|data):/.test(request.url())) complaints.push(request.url());
    });
    await page.reload();
    onTestFinished(async () => {
      expect(await page.evaluate("window.hit")).toBeUndefined();
      expect(complaints).toEqual([]);
    });
    return page;
  }

  /** A browser on a busy machine takes its time. */
  const eventually = <Value>(read: () => Promise<Value>) => expect.poll(read);
  const captions = (page: Page) => page.locator(".card .prompt").allTextContents();
  const totals = (page: Page) => page.locator(".totals").textContent();
  const focused = (page: Page) => page.evaluate("document.activeElement.textContent");

  it("shows every image, newest first, and totals that count a task's cost once and say how many are unknown", async () => {
    const page = await opened();
    expect(await captions(page)).toEqual(["5 image.png", "owls", "owls", HOSTILE, "a red hare", "a red fox"]);
    expect(await totals(page)).toBe("6 images, 15 credits, 2 of unknown cost");
    const widths = await page
      .locator(".card img")
      .evaluateAll((images) => images.map((each) => each.clientWidth));
    expect(widths.every((width) => width > 100)).toBe(true);
    const loaded = "[...document.querySelectorAll('.card img')].every((image) => image.naturalWidth === 64)";
    await eventually(() => page.evaluate(loaded)).toBe(true);
  });

  it("searches prompts and names, and filters by model, ratio, quality and date", async () => {
    const page = await opened();
    await page.getByLabel("Search").fill("RED a");
    expect(await captions(page)).toEqual(["a red hare", "a red fox"]);
    expect(await totals(page)).toBe("2 of 6 images, 10 credits");
    await page.getByLabel("Quality").selectOption("1K");
    expect(await captions(page)).toEqual(["a red fox"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await eventually(() => totals(page)).toBe("6 images, 15 credits, 2 of unknown cost");
    await page.getByLabel("Ratio").selectOption("16:9");
    await page.getByLabel("Model").selectOption("z-image");
    expect(await captions(page)).toEqual([HOSTILE]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await eventually(() => totals(page)).toBe("6 images, 15 credits, 2 of unknown cost");
    await page.getByLabel("From").fill("2026-01-02");
    await page.getByLabel("Until").fill("2026-01-03");
    expect(await captions(page)).toEqual([HOSTILE, "a red hare"]);
  });

  it("finds words by how they begin, and says so where nothing matches", async () => {
    const page = await opened();
    await page.getByLabel("Search").fill("owl");
    expect(await captions(page)).toEqual(["owls", "owls"]);
    expect(await page.locator(".none").isVisible()).toBe(false);
    await page.getByLabel("Search").fill("wls");
    expect(await captions(page)).toEqual([]);
    expect(await page.locator(".none").textContent()).toBe("No image matches the search and the filters.");
    expect(await page.locator(".none").isVisible()).toBe(true);
  });

  it("leaves out filters with nothing to choose", async () => {
    const page = await opened({}, IMAGES.slice(0, 1));
    for (const name of ["Model", "Ratio", "Quality"])
      expect(await page.getByLabel(name, { exact: true }).isVisible()).toBe(false);
    expect(await page.getByLabel("Search").isVisible()).toBe(true);
  });

  it("shows each picture whole, in its own ratio, and names that", async () => {
    const drawn = await sharp({ create: { width: 128, height: 64, channels: 3, background: "teal" } })
      .png()
      .toBuffer();
    const wide = {
      ...image(0, { prompt: "a red fox", model: "z-image", ratio: "2:1" }),
      thumbnail: `data:image/png;base64,${drawn.toString("base64")}`,
      width: 128,
      height: 64,
    };
    const page = await opened({}, [wide, image(5, {})]);
    const [first, second] = await page
      .locator(".card img")
      .evaluateAll((images) => images.map(({ clientWidth, clientHeight }) => clientWidth / clientHeight));
    expect([first, second].sort()).toEqual([expect.closeTo(1, 1), expect.closeTo(2, 1)]);
    const facts = await page.locator(".card .quiet").allTextContents();
    expect(facts.sort()).toEqual(["64×64", "z-image · cost unknown · 2:1"]);
  });

  it("has an address for each image, which opens it", async () => {
    const page = await opened();
    await page.locator(".card").nth(4).click();
    expect(await page.evaluate("location.hash")).toBe("#image-1");
    await page.keyboard.press("ArrowRight");
    expect(await page.evaluate("location.hash")).toBe("#image-0");
    await page.reload();
    expect(await page.locator(".prompt-text").textContent()).toBe("a red fox");
    await page.keyboard.press("Escape");
    await eventually(() => page.evaluate("location.hash")).toBe("");
    await page.getByLabel("Search").fill("owls");
    await page.evaluate("location.hash = '#image-1'");
    await eventually(() => page.locator(".prompt-text").textContent()).toBe("a red hare");
    expect(await page.getByLabel("Search").inputValue()).toBe("");
  });

  it("has its search one key away, from the top and from any card", async () => {
    const page = await opened();
    const isSearch = () => page.evaluate("document.activeElement.name === 'search'");
    await page.keyboard.press("Tab");
    expect(await isSearch()).toBe(true);
    await page.locator(".card").nth(3).focus();
    await page.keyboard.press("/");
    expect(await isSearch()).toBe(true);
    expect(await page.getByLabel("Search").inputValue()).toBe("");
  });

  it("breaks no command inside an option", async () => {
    const command = `imggen generate --model gamma-image-2 --quality 4K --ratio 16:9 --max-images 4 'a fox'`;
    const page = await opened({ viewport: { width: 390, height: 800 } }, [
      image(0, { prompt: "a fox", model: "gamma-image-2", command }),
    ]);
    await page.locator(".card").click();
    expect(await page.locator(".command-text").textContent()).toBe(command);
    const lines = await page
      .locator(".command-text .option")
      .evaluateAll((options) => options.map((each) => each.getClientRects().length));
    expect(lines).toEqual([1, 1, 1, 1]);
  });

  it("takes the day of an image as the viewer's clock has it", async () => {
    const page = await opened({ timezoneId: "Pacific/Auckland" }, [
      { ...image(0, {}), date: "2026-01-01T12:30:00.000Z" },
    ]);
    const days = async (from: string) => {
      await page.getByLabel("From").fill(from);
      return (await captions(page)).length;
    };
    expect([await days("2026-01-02"), await days("2026-01-03")]).toEqual([1, 0]);
  });

  it("shows which card has the focus, on all its sides", async () => {
    const page = await opened({ deviceScaleFactor: 1 });
    for (const at of [0, 3, 5]) {
      const card = page.locator(".card").nth(at);
      await card.focus();
      // Only a key makes the focus visible.
      await page.keyboard.press("Shift");
      const box = await card.boundingBox();
      if (box === null) throw new Error("the card is not shown");
      const [left, top] = [Math.round(box.x) - 4, Math.round(box.y) - 4];
      const [width, height] = [Math.round(box.width) + 8, Math.round(box.height) + 8];
      const clip = { x: left, y: top, width, height };
      const { data } = await sharp(await page.screenshot({ clip }))
        .removeAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      const colorAt = (x: number, y: number) => [...data.subarray((y * width + x) * 3).subarray(0, 3)];
      const middle = [width >> 1, height >> 1] as const;
      const sides = [
        colorAt(middle[0], 1),
        colorAt(middle[0], height - 2),
        colorAt(1, middle[1]),
        colorAt(width - 2, middle[1]),
      ];
      expect(sides).toEqual(sides.map(() => [0x1f, 0x5f, 0xbf]));
    }
  });

  it("sorts by date and by cost, what has none last", async () => {
    const page = await opened();
    const sort = (order: string) => page.getByLabel("Sort by").selectOption(order);
    await sort("Oldest");
    expect((await captions(page))[0]).toBe("a red fox");
    await sort("Highest cost");
    expect(await captions(page)).toEqual(["a red hare", "owls", "owls", "a red fox", "5 image.png", HOSTILE]);
    await sort("Lowest cost");
    expect((await captions(page)).slice(0, 2)).toEqual(["a red fox", "owls"]);
  });

  it("is used by keyboard alone: from the search to an image, through the lightbox, and back", async () => {
    const page = await opened({ permissions: ["clipboard-read", "clipboard-write"] });
    await page.keyboard.press("Tab");
    await page.keyboard.type("red");
    await page.locator(".card").first().focus();
    await page.keyboard.press("Enter");
    const box = page.getByRole("dialog");
    await eventually(() => box.isVisible()).toBe(true);
    expect(await box.locator(".image").getAttribute("alt")).toBe("a red hare");
    for (const [key, prompt] of [
      ["ArrowRight", "a red fox"],
      ["ArrowRight", "a red hare"],
      ["End", "a red fox"],
      ["Home", "a red hare"],
      ["ArrowLeft", "a red fox"],
    ]) {
      await page.keyboard.press(key ?? "");
      expect(await box.locator(".prompt-text").textContent()).toBe(prompt);
    }
    expect(await box.locator(".position").textContent()).toBe("2 of 2");
    await box.getByRole("button", { name: "Copy command" }).focus();
    await page.keyboard.press("Enter");
    await eventually(() => box.getByRole("status").textContent()).toBe("Copied the command.");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("imggen generate 'a red fox'");
    await page.keyboard.press("Escape");
    expect(await box.isVisible()).toBe(false);
    await eventually(() => focused(page)).toContain("a red fox");
  });

  it("copies without the clipboard's permission too", async () => {
    const page = await opened({ permissions: [] });
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
    await page.locator(".card").last().click();
    await page.getByRole("button", { name: "Copy prompt" }).click();
    const said = () => page.getByRole("dialog").getByRole("status").textContent();
    await eventually(said).toBe("Copied the prompt.");
    expect(await focused(page)).toBe("Copy prompt");
    await page.keyboard.press("Escape");
    // The lightbox gives the focus back once it is closed, which may be after the key.
    await eventually(() => focused(page)).toContain("a red fox");
    await page.getByLabel("Search").focus();
    await page.keyboard.press("Control+V");
    await eventually(() => page.getByLabel("Search").inputValue()).toBe("a red fox");
  });

  it("says so where nothing can be copied", async () => {
    const page = await opened({ permissions: [] });
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
    await page.evaluate("document.execCommand = () => false");
    await page.locator(".card").last().click();
    await page.getByRole("button", { name: "Copy prompt" }).click();
    const said = () => page.getByRole("dialog").getByRole("status").textContent();
    await eventually(said).toBe("The prompt could not be copied.");
  });

  it("shows a prompt with HTML as text, in the card and in the lightbox", async () => {
    const page = await opened();
    await page.locator(".card").nth(3).click();
    expect(await page.locator(".prompt-text").textContent()).toBe(HOSTILE);
    expect(await page.title()).toBe("pictures & <more>");
  });

  it("says of an image without a known request only what the file says", async () => {
    const page = await opened();
    await page.locator(".card").first().click();
    expect(await page.locator(".made").isVisible()).toBe(false);
    expect(await page.locator("dl dt").allTextContents()).toEqual(["Size", "Date", "File", "Link"]);
  });

  it("may run and load nothing but its own: a strict policy holds it", async () => {
    const page = await loaded();
    const blocked = await page.evaluate(`new Promise((resolve) => {
      const found = [];
      document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => found.push(effectiveDirective));
      const script = document.createElement("script");
      script.textContent = "window.hit = 1";
      document.body.append(script);
      const style = document.createElement("style");
      style.textContent = "body { display: none }";
      document.body.append(style);
      new Image().src = "https://example.com/x.png";
      fetch("https://example.com/").catch(() => setTimeout(() => resolve(found.sort()), 100));
    })`);
    expect(blocked).toEqual(["connect-src", "img-src", "script-src-elem", "style-src-elem"]);
    expect(await page.evaluate("window.hit")).toBeUndefined();
  });

  it.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["as narrow as a phone", { viewport: { width: 390, height: 800 }, reducedMotion: "reduce" }],
  ] as const)("has no fault that axe-core finds: %s", async (_what, options) => {
    const page = await opened(options);
    const audit = async () => {
      // By the debugger's own means: the page's policy lets no script in.
      await page.evaluate(axe.source);
      return page.evaluate(
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.length]))",
      );
    };
    expect(await audit()).toEqual([]);
    await page.locator(".card").nth(1).click();
    expect(await audit()).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  it("moves nothing for those who want less motion", async () => {
    const page = await opened({ reducedMotion: "reduce" });
    const duration = "getComputedStyle(document.querySelector('.card img')).transitionDuration";
    expect(await page.evaluate(duration)).toBe("0s");
  });

  it("of 2,000 images opens at once, and scrolls to the last", async () => {
    const many = Array.from({ length: 2000 }, (_, at) => ({
      ...image(at % 6, { prompt: `image ${at}` }),
      date: new Date(at).toISOString(),
    }));
    const page = await opened({}, many);
    expect(await totals(page)).toBe("2000 images, cost unknown");
    await page.keyboard.press("End");
    await eventually(() => page.locator(".card").last().isVisible()).toBe(true);
    await page.locator(".card").last().scrollIntoViewIfNeeded();
    await page.locator(".card").last().click();
    expect(await page.locator(".position").textContent()).toBe("2000 of 2000");
  });
});
