import type { Command } from "commander";
import { SETTING_LIST, type SettingRow } from "../../client/effective-settings.ts";
import { redactAddress } from "../../lib/query-secret.ts";
import type { Settings } from "../../store/settings-file.ts";
import type { SettingName } from "../../store/settings-table.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const EXAMPLES = `
Examples:
  $ imggen logout`;

export function register(command: Command, runWith: RunWith): void {
  command.addHelpText("after", EXAMPLES).action(runWith(runLogout));
}

async function runLogout(session: Session): Promise<Answer> {
  session.requireProfile();
  const { console, context } = session;
  const store = await session.settingsStore();
  // First: they may contain the key even if the settings cannot be read.
  const leftovers = await store.removeLeftovers();
  const settings = await store.read();
  const ofAccount = SETTING_LIST.filter(isOfAccount);
  const removed = ofAccount.map(({ name }) => name).filter((name) => settings[name] !== undefined);
  if (removed.length > 0) await store.update(Object.fromEntries(removed.map((name) => [name, undefined])));
  return {
    json: { ok: true, removed: removed.length > 0, settings: removed },
    show: () => console.note(removedText(removed, settings)),
    async after() {
      if (leftovers) await console.note("Removed the temporary files of an interrupted login.");
      for (const { variable } of ofAccount)
        if (variable !== undefined && context.env[variable])
          await console.warn(`${variable} is still set in this environment, and still applies.`);
    },
  };
}

/** Whether a setting is about whom requests go to. */
function isOfAccount({ name, isOfGenerator }: SettingRow): boolean {
  return name === "apiKey" || name === "baseUrl" || isOfGenerator;
}

const WORDS: { readonly [Name in SettingName]?: string } = {
  apiKey: "the API key",
  baseUrl: "the base URL",
  generator: "the generator",
  generatorKey: "the generator's key",
};

function removedText(names: readonly SettingName[], { baseUrl, generator }: Settings): string {
  if (names.length === 0) return "Nothing was stored: no key, no base URL, no generator.";
  const addresses: { readonly [Name in SettingName]?: string | undefined } = { baseUrl, generator };
  const parts = names.flatMap((name) => {
    const address = addresses[name];
    const what = WORDS[name] ?? [];
    return address === undefined ? what : `${what} ${redactAddress(address)}`;
  });
  const others = names.filter((name) => WORDS[name] === undefined);
  if (others.length > 0)
    parts.push(`the ${others.length === 1 ? "setting" : "settings"} ${others.join(", ")}`);
  return `Removed ${new Intl.ListFormat("en-GB").format(parts)}.`;
}
