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
  const { apiKey, baseUrl, generator, generatorKey } = await store.read();
  const [ofService, ofGenerator] = [apiKey ?? baseUrl, generator ?? generatorKey];
  const stored = (ofService ?? ofGenerator) !== undefined;
  const nothing = { apiKey: undefined, baseUrl: undefined, generator: undefined, generatorKey: undefined };
  if (stored) await store.update(nothing);
  if (session.options.json) await session.console.json({ ok: true, removed: stored });
  else await session.console.note(removedText(ofService, ofGenerator));
  if (leftovers)
    await session.console.note("Removed what an interrupted login had left beside the settings.");
  for (const variable of ["IMGGEN_API_KEY", "IMGGEN_GENERATOR_KEY"])
    if (session.context.env[variable])
      await session.console.warn(`${variable} is still set in this environment, and still applies.`);
  return 0;
}

function removedText(ofService: string | undefined, ofGenerator: string | undefined): string {
  if (ofService !== undefined) return "Removed the API key and the base URL.";
  return ofGenerator !== undefined ? "Removed the generator and its key." : "No key was stored.";
}
