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
  // Leftover files can contain the key, and reading the settings might fail, so these files are removed first.
  const leftovers = await store.removeLeftovers();
  const settings = await store.read();
  const accountSettings = SETTING_LIST.filter(isAccountSetting);
  const removed = accountSettings.map(({ name }) => name).filter((name) => settings[name] !== undefined);
  if (removed.length > 0) await store.update(Object.fromEntries(removed.map((name) => [name, undefined])));
  return {
    json: { ok: true, removed: removed.length > 0, settings: removed },
    show: () => console.note(removedText(removed, settings)),
    async after() {
      if (leftovers) await console.note("Removed the temporary files of an interrupted login.");
      for (const { variable } of accountSettings)
        if (variable !== undefined && context.env[variable])
          await console.warn(`${variable} is still set in the environment and still used.`);
    },
  };
}

function isAccountSetting({ name, isOfGenerator }: SettingRow): boolean {
  return name === "apiKey" || name === "baseUrl" || isOfGenerator;
}

const SETTING_TEXTS: { readonly [Name in SettingName]?: string } = {
  apiKey: "the API key",
  baseUrl: "the base URL",
  generator: "the generator",
  generatorKey: "the generator's key",
};

function removedText(names: readonly SettingName[], { baseUrl, generator }: Settings): string {
  if (names.length === 0) return "Nothing to remove: no key, base URL or generator was stored.";
  const addresses: { readonly [Name in SettingName]?: string | undefined } = { baseUrl, generator };
  const parts = names.flatMap((name) => {
    const address = addresses[name];
    const noun = SETTING_TEXTS[name] ?? [];
    return address === undefined ? noun : `${noun} ${redactAddress(address)}`;
  });
  const otherNames = names.filter((name) => SETTING_TEXTS[name] === undefined);
  if (otherNames.length > 0)
    parts.push(`the ${otherNames.length === 1 ? "setting" : "settings"} ${otherNames.join(", ")}`);
  return `Removed ${new Intl.ListFormat("en-GB").format(parts)}.`;
}
