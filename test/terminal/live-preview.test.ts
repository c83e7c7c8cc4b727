import { platform } from "node:os";
import { describe, expect, it } from "vitest";
import { automatic1111 } from "../support/automatic1111.ts";
import { comfyDouble } from "../support/comfyui.ts";
import { png } from "../support/images.ts";
import { type PictureTerminal, recorded } from "../support/picture-terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { hasTool } from "../support/tools.ts";

const TERMINALS = {
  kitty: { KITTY_WINDOW_ID: "1" },
  iterm2: { TERM_PROGRAM: "iTerm.app", TERM_PROGRAM_VERSION: "3.5.0" },
} as const;
const [FIRST, SECOND] = [png(1).toString("base64"), png(2).toString("base64")];

describe.skipIf(platform() !== "linux" || !hasTool("script"))(
  "--preview while a server makes the image",
  () => {
    async function generating(env: Record<string, string>, preview = "--preview") {
      const server = await automatic1111({ isHeld: true });
      const cwd = await temporaryFolder();
      const args = ["generate", "a fox", "--generator", server.spec, preview];
      const run = recorded(args, cwd, { IMGGEN_HOME: cwd, ...env });
      server.state = { progress: 0.25, current_image: FIRST };
      return { server, run };
    }

    const shows = (data: string) => (screen: PictureTerminal) => screen.pictures.at(-1)?.data === data;
    const textOf = ({ lines }: PictureTerminal) =>
      lines.map((line) => line.trimEnd()).filter((line) => line !== "");

    it.each(["kitty", "iterm2"] as const)(
      "in %s each picture takes the place of the last, and the image that of all",
      async (name) => {
        const { server, run } = await generating(TERMINALS[name]);
        await run.until(shows(FIRST));
        server.state = { progress: 0.5, current_image: SECOND };
        const { pictures, drawn } = await run.until(shows(SECOND));
        expect(pictures.map(({ row }) => row)).toEqual([drawn[0]?.row]);
        server.release();
        expect(await run.end()).toBe(0);
        const after = run.screen();
        expect(after.mostAtOnce).toBe(1);
        expect(after.pictures).toEqual([expect.objectContaining({ row: drawn[0]?.row })]);
        expect(after.pictures[0]?.data).not.toBe(SECOND);
        expect(textOf(after)).toEqual([expect.stringMatching(/^✓ Saved a-fox-/)]);
      },
    );

    it("leaves nothing on the screen where the server refuses the request", async () => {
      const { server, run } = await generating(TERMINALS.kitty);
      await run.until(shows(FIRST));
      server.refuse();
      expect(await run.end()).toBe(2);
      expect(run.screen()).toMatchObject({ pictures: [], mostAtOnce: 1 });
      expect(textOf(run.screen())[0]).toMatch(/^error: /);
    });

    it("leaves nothing on the screen at Ctrl-C, and has the server end its work", async () => {
      const { server, run } = await generating(TERMINALS.kitty);
      await run.until(shows(FIRST));
      run.type("\u0003");
      expect(await run.end()).toBe(130);
      expect(run.screen()).toMatchObject({ pictures: [], mostAtOnce: 1 });
      expect(textOf(run.screen())[0]).toMatch(/^(?:\^C)?(?:error: )?Interrupted/);
      expect(server.interrupts()).toBe(1);
    });

    it("shows ComfyUI's pictures too, and a second Ctrl-C interrupts its job by the job's id", async () => {
      const double = await comfyDouble({ isHeld: true });
      const cwd = await temporaryFolder();
      const args = ["generate", "a fox", "--generator", `comfyui:${double.url}`, "--preview"];
      const run = recorded(args, cwd, { IMGGEN_HOME: cwd, ...TERMINALS.kitty });
      const isListening = () => double.clients().length > 0;
      await run.until(isListening);
      const [id = ""] = double.clients();
      double.begin();
      double.sayBytes(id, Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 2]), png(1)]));
      await run.until(shows(FIRST));
      run.type("\u0003");
      await run.until(({ lines }) => lines.join("\n").includes("Ctrl-C again asks"));
      run.type("\u0003");
      expect(await run.end()).toBe(130);
      const interrupts = double.requests.filter(({ target }) => target === "/interrupt");
      expect(interrupts.map(({ body }) => JSON.parse(body))).toEqual([{ prompt_id: id }]);
      expect(run.screen().pictures).toEqual([]);
    });

    it.each<[string, unknown]>([
      ["no image", Buffer.from("\u001b[2J<html>").toString("base64")],
      ["no base64", { toString: 1 }],
      ["more than any image has", "A".repeat(9 * 1024 * 1024)],
    ])("leaves out what is %s, and shows the share", async (_what, image) => {
      const { server, run } = await generating(TERMINALS.kitty);
      server.state = { progress: 0.25, current_image: image };
      await run.until(({ lines }) => lines.join("\n").includes("25%"));
      server.state = { progress: 0.75, current_image: image };
      await run.until(({ lines }) => lines.join("\n").includes("75%"));
      server.release();
      expect(await run.end()).toBe(0);
      expect(run.screen().drawn).toHaveLength(1);
    });

    it.each([
      ["on a terminal that can replace no picture", "--preview", {}],
      ["without --preview", "--no-color", TERMINALS.kitty],
    ])("%s the share is shown alone, and the server is not asked for pictures", async (_what, flag, env) => {
      const { server, run } = await generating(env, flag);
      await run.until(({ lines }) => lines.join("\n").includes("25%"));
      server.release();
      expect(await run.end()).toBe(0);
      expect(run.screen().drawn).toEqual([]);
      expect(server.requests.some(({ target }) => target.includes("skip_current_image=false"))).toBe(false);
    });
  },
);
