import type { Command } from "commander";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const EXAMPLES = `
Examples:
  $ imggen logout`;

export function register(command: Command, runWith: RunWith): void {
  command.addHelpText("after", EXAMPLES).action(runWith(runLogout));
}

async function runLogout(session: Session): Promise<number> {
  session.requireProfile();
  const store = await session.settingsStore();
  // First: they may hold the key even where the settings themselves cannot be read.
  const leftovers = await store.removeLeftovers();
  const { apiKey, baseUrl } = await store.read();
  const stored = apiKey !== undefined || baseUrl !== undefined;
  if (stored) await store.update({ apiKey: undefined, baseUrl: undefined });
  if (session.options.json) await session.json({ ok: true, removed: stored });
  else await session.console.note(stored ? "Removed the API key and the base URL." : "No key was stored.");
  if (leftovers)
    await session.console.note("Removed what an interrupted login had left beside the settings.");
  const variable = session.context.env.IMGGEN_API_KEY;
  if (variable)
    await session.console.warn("IMGGEN_API_KEY is still set in this environment, and still applies.");
  return 0;
}
