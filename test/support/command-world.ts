import { mkdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { CANARY } from "./canary.ts";
import { PICTURE } from "./images.ts";
import { type RunOptions, type RunResult, runCommand } from "./in-process.ts";
import { liveService } from "./live-server.ts";
import type { ServiceScript } from "./scripted-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const TEST_KEY = CANARY;

/** An environment without the account that a world has. */
export const NO_ACCOUNT = { IMGGEN_API_KEY: undefined, IMGGEN_BASE_URL: undefined };

/** Commands run in this process: a home, a current folder, and a scripted service that they are set up for. */
export type CommandWorld = Awaited<ReturnType<typeof commandWorld>>;

/** Any JSON document: a test says what it expects of it. */
export interface Document {
  [field: string]: Document;
}

/**
 * A world of its own for one test. Polls and retries follow each other quickly.
 * @param ownEnv added to the environment of every command, or taken out of it
 */
export async function commandWorld(script: ServiceScript = {}, ownEnv: RunOptions["env"] = {}) {
  const folder = await temporaryFolder();
  const [home, cwd] = [path.join(folder, "home"), path.join(folder, "work")];
  for (const each of [home, cwd]) mkdirSync(each);
  const server = await liveService(PICTURE, script);
  const env = { IMGGEN_API_KEY: TEST_KEY, IMGGEN_BASE_URL: server.baseUrl, ...ownEnv };
  const run = (args: readonly string[], options: Partial<RunOptions> = {}): Promise<RunResult> =>
    runCommand(quickly(args), { home, cwd, ...options, env: { ...env, ...options.env } });
  return {
    home,
    cwd,
    server,
    run,
    /** Runs with `--json`, and reads the whole of standard output as one document. */
    async json(args: readonly string[], options?: Partial<RunOptions>) {
      const { code, stdout, stderr } = await run([...args, "--json"], options);
      return { code, document: JSON.parse(stdout) as Document, stderr };
    },
    /** Everything below home and current folder. */
    listing: async () => (await readdir(folder, { recursive: true })).sort(),
  };
}

/** The bodies of all submits, as the service read them. */
export function submitted(world: CommandWorld): unknown[] {
  return world.server.submits().map(({ body }) => JSON.parse(body));
}

const WAITING = new Set(["generate", "rerun", "resume", "batch", "compare"]);

/** The same command, with polls that follow each other closely. */
function quickly(args: readonly string[]): string[] {
  const waits = WAITING.has(args[0] ?? "") || args.includes("--wait");
  if (!waits || args.includes("--poll-interval")) return [...args];
  return [args[0] ?? "", "--poll-interval", "100ms", ...args.slice(1)];
}
