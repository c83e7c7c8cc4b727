import { chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** An account at a service: nothing asks about the sandbox, which is free. */
async function account() {
  const { baseUrl } = await liveService(PICTURE);
  return { IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: "sk-paid" };
}

describe.skipIf(!hasScreen)("on a real terminal", () => {
  it("generate asks for a prompt where none is given", async () => {
    const screen = await Screen.start(["generate", "-m", "z-image", "--sandbox"], { columns: 80 });
    await screen.shows(/^Prompt:$/m);
    await screen.type("a red fox", "Enter");
    await screen.shows(/^✓ Saved a-red-fox-/m);
    expect(await screen.end()).toBe(0);
    expect(await screen.lines()).toEqual(["Prompt: a red fox", expect.stringMatching(/^✓ Saved a-red-fox-/)]);
  });

  it("Ctrl-C at a question ends it with 130, and nothing was sent", async () => {
    const screen = await Screen.start(["generate", "--sandbox"], { columns: 80 });
    await screen.shows(/^Prompt:$/m);
    await screen.type("C-c");
    expect(await screen.end()).toBe(130);
    expect((await screen.lines()).join("\n")).toContain("Interrupted");
  });

  it.each([
    ["Ctrl-C", "C-c", 130, /^Interrupted/],
    ["Ctrl-D", "C-d", 2, /^error: The cost was not confirmed/],
  ])(
    "%s at the question whether to spend that much leaves the question to be read",
    async (_key, key, code, said) => {
      const folder = await temporaryFolder();
      const manifest = path.join(folder, "foxes.txt");
      await writeFile(manifest, Array.from({ length: 60 }, (_, i) => `fox ${i}\n`).join(""));
      const args = ["batch", manifest, "-o", folder, "-m", "z-image"];
      const screen = await Screen.start(args, { columns: 80, env: await account() });
      await screen.shows(/^Spend an estimated \d+ credits\? \[y\/N\]$/m);
      await screen.type(key);
      expect(await screen.end()).toBe(code);
      const lines = await screen.lines();
      const at = lines.findIndex((line) => /^Spend an estimated \d+ credits\? \[y\/N\]/.test(line));
      expect(lines.slice(at, at + 2)).toEqual([expect.anything(), expect.stringMatching(said)]);
    },
  );

  it("a batch asks a second question after the first one was answered", async () => {
    const folder = await temporaryFolder();
    const manifest = path.join(folder, "foxes.txt");
    const args = ["batch", manifest, "-o", folder, "-m", "z-image"];
    const env = await account();
    await writeFile(manifest, "an owl\n");
    // Each screen has a home of its own, so the second does not know what the first has submitted.
    await Screen.after([...args, "--yes"], { columns: 80, env });
    await writeFile(manifest, Array.from({ length: 60 }, (_, i) => `fox ${i}\n`).join(""));
    const screen = await Screen.start(args, { columns: 80, env });
    await screen.shows(/^Submit all \d+ rows\? \[y\/N\]$/m);
    await screen.type("y", "Enter");
    await screen.shows(/^Spend an estimated \d+ credits\? \[y\/N\]$/m);
    await screen.type("n", "Enter");
    expect(await screen.end()).toBe(2);
    const lines = (await screen.lines()).join("\n");
    expect(lines).toContain("Submit all 60 rows? [y/N] y\n");
    expect(lines).toMatch(/^Spend an estimated \d+ credits\? \[y\/N\] n\nerror: The cost was not confirmed/m);
  });

  it("login asks for the base URL and the key, shows only the first, and says who has accepted it", async () => {
    const server = await liveService(PICTURE);
    const screen = await Screen.start(["login"], { columns: 80 });
    await screen.shows(/^Base URL of the service:$/m);
    await screen.type(server.baseUrl, "Enter");
    await screen.shows(/^API key for 127\.0\.0\.1:\d+:$/m);
    await screen.type("sk-typed-in-secret", "Enter");
    await screen.shows(/by default\? \[Y\/n\]$/m);
    await screen.type("n", "Enter");
    expect(await screen.end()).toBe(0);
    const lines = await screen.lines();
    expect(lines).toContain(`Key accepted by ${new URL(server.baseUrl).host}.`);
    expect(lines.join("\n")).not.toContain("typed-in");
  });

  it("questions are broken between words where the terminal is narrow, and answers stay on their last line", async () => {
    const server = await liveService(PICTURE);
    const screen = await Screen.start(["login"], { columns: 20 });
    await screen.shows(/^Base URL of the\n {2}service:$/m);
    await screen.type("nonsense", ...Array.from("nonsense", () => "BSpace"), server.baseUrl, "Enter");
    await screen.shows(/^API key for\n {2}127\.0\.0\.1:\d+:$/m);
    await screen.type("sk-typed-in-secret", "Enter");
    await screen.shows(/^Use gamma-image-2 in\n {2}1K \(2 credits\) by\n {2}default\? \[Y\/n\]$/m);
    await screen.type("Enter");
    expect(await screen.end()).toBe(0);
    expect(await screen.lines()).toContain("Base URL of the");
  });

  it("generate --edit opens the editor with what was given, and sends what it saves", async () => {
    const folder = await temporaryFolder();
    const editor = path.join(folder, "editor");
    await writeFile(editor, '#!/bin/sh\nprintf "%s, in snow\\n" "$(cat "$2")" > "$2"\n');
    await chmod(editor, 0o755);
    const env = { EDITOR: `${editor} --wait` };
    const args = ["generate", "a red fox", "--edit", "--dry-run", "-m", "z-image"];
    const shown = await Screen.after(args, { columns: 80, env });
    expect(shown.join("\n")).toContain('"prompt": "a red fox, in snow"');
    const failing = await Screen.start(args, { columns: 80, env: { EDITOR: "false" } });
    expect(await failing.end()).toBe(2);
    expect((await failing.lines())[0]).toBe('error: The editor "false" exited with code 1.');
  });

  it("sandbox prints two lines to paste, and a log that fits its meaning in colours", async () => {
    const screen = await Screen.start(["sandbox"], { columns: 100, env: { SHELL: "/bin/bash" } });
    const lines = await screen.shows(/Serving until Ctrl-C/);
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^export IMGGEN_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/api$/),
      "export IMGGEN_API_KEY=sk-sandbox",
    ]);
    const baseUrl = lines[0]?.split("=")[1] ?? "";
    await fetch(`${baseUrl}/generate-image?taskId=nope`, { headers: { Authorization: "Bearer sk-sandbox" } });
    await screen.shows(/^\d\d:\d\d:\d\d GET \/api\/generate-image 200 /m);
    // Dim for the time, and yellow for what was refused with the status 200.
    expect(await screen.styles()).toEqual(new Set([2, 33]));
    await screen.type("C-c");
    expect(await screen.end()).toBe(130);
  });
});
