import { describe, expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { CANARY } from "../support/program-world.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { failure } from "../support/scripted-server.ts";
import { late, replies } from "../support/scripts.ts";

const REFUSED = failure("login_required");

async function account(reply = replies(REFUSED)) {
  const { baseUrl } = await liveService(PICTURE, { poll: reply });
  return { IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: CANARY };
}

describe.skipIf(!hasScreen)("doctor on a real terminal", () => {
  it.each([100, 60, 40])("of %d columns breaks no word, and marks every check", async (columns) => {
    const lines = await Screen.after(["doctor", "--verbose"], { columns, rows: 70, env: await account() });
    const heads = lines.flatMap((line) => /^[✓!✗-] (\w+)/.exec(line)?.[1] ?? []);
    expect([heads.at(0), heads.at(-1), heads.length]).toEqual(["imggen", "clock", 15]);
    const words = new Set(lines.join(" ").split(/\s+/));
    for (const word of ["dejavu-fonts-ttf", "IMGGEN_API_KEY", `${columns}×70,`])
      expect(words).toContain(word);
    expect(lines.at(-1)).toBe("1 problem to fix.");
  });

  it("has colours on its marks alone, and none under NO_COLOR", async () => {
    const env = await account();
    const styled = await Screen.start(["doctor"], { columns: 100, rows: 40, env });
    expect(await styled.end()).toBe(2);
    expect(await styled.colored()).toContain("\u001b[31m✗\u001b[39m key");
    // Green and red.
    expect(await styled.styles()).toEqual(new Set([31, 32]));
    const plain = await Screen.start(["doctor"], { columns: 100, rows: 40, env: { ...env, NO_COLOR: "1" } });
    await plain.end();
    expect(await plain.styles()).toEqual(new Set());
  });

  it("shows what is known while the service is slow, and is stopped by Ctrl-C", async () => {
    const env = await account(late(4_000, replies(REFUSED)));
    const screen = await Screen.start(["doctor", "--verbose"], { columns: 100, rows: 40, env });
    const lines = await screen.shows(/tls .*\n.*Checking/);
    expect(lines.join("\n")).not.toMatch(/^. service/m);
    await screen.type("C-c");
    expect(await screen.end()).toBe(130);
    expect((await screen.lines()).join("\n")).not.toContain("Checking");
  });
});
