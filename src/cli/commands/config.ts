import type { Command } from "commander";
import { getSettingRow, SETTING_LIST } from "../../client/effective-settings.ts";
import { checkSetting } from "../../client/setting-parsers.ts";
import { targetInEffect } from "../../client/targets/target-in-effect.ts";
import { UsageError } from "../../lib/error-types.ts";
import { redactAddress } from "../../lib/query-secret.ts";
import { maskKey } from "../../lib/redact.ts";
import type { Settings } from "../../store/settings-file.ts";
import type { SettingName } from "../../store/settings-table.ts";
import { type Answer, describeBriefly, type RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { showTable, type TableColumn } from "../text/table.ts";

const EXAMPLES = `
Examples:
  $ imggen config list
  $ imggen config set model gamma-image-2
  $ imggen config get model
  $ imggen config unset model

All settings and their meaning: imggen help environment`;

export function register(command: Command, runWith: RunWith): void {
  command.addHelpText("after", EXAMPLES);
  command.helpCommand("help [command]", "show help for a command");
  command.action(runWith(runList));
  const add = (usage: string, summary: string) => describeBriefly(command.command(usage), summary);
  add("list", "show every setting, its value and its source").action(runWith(runList));
  add("get <name>", "print the effective value of a setting").action(runWith(runGet));
  add("set <name> <value>", "store a setting").action(runWith(runSet));
  add("unset <name>", "remove a stored setting").action(runWith(runUnset));
  add("path", "print the path of the settings file").action(runWith(runPath));
}

function settingName(text: string): SettingName {
  const row = SETTING_LIST.find(({ name }) => name === text);
  if (row) return row.name;
  throw new UsageError(`There is no setting ${JSON.stringify(text)}.`, {
    hint: `Settings: ${SETTING_LIST.map(({ name }) => name).join(" ")}`,
  });
}

function maskedSetting(name: SettingName, { settings }: Session) {
  const setting = settings.get(name);
  if (!setting) return { name, value: getSettingRow(name).default ?? null, source: "default" };
  const value = name in LOGIN_COMMANDS ? maskKey(setting.value) : shownValue(name, setting.value);
  return { name, value, source: setting.source };
}

/** An address in a variable or an edited file can contain a key. */
function shownValue(name: SettingName, value: string): string {
  return name === "baseUrl" || name === "generator" ? redactAddress(value) : value;
}

const LOGIN_COMMANDS: { readonly [Name in SettingName]?: string } = {
  apiKey: "imggen login",
  generatorKey: "imggen login --generator <spec>",
};

const COLUMNS: readonly TableColumn[] = [
  { heading: "NAME", required: true },
  { heading: "VALUE", required: true },
  { heading: "FROM" },
];

async function runList(session: Session): Promise<Answer> {
  const { profile } = session;
  const rows = [
    { name: "profile", value: profile?.name ?? null, source: profile?.source ?? "default" },
    ...SETTING_LIST.map(({ name }) => maskedSetting(name, session)),
  ];
  const cells = rows.map(({ name, value, source }) => [name, value ?? "-", source]);
  return { json: rows, show: () => showTable(COLUMNS, cells, session) };
}

async function runGet(session: Session, text: string): Promise<Answer> {
  const name = settingName(text);
  const row = maskedSetting(name, session);
  const { value } = row;
  const { console } = session;
  const show = () => (value === null ? console.note(`${name} is not set.`) : console.result(value));
  return { json: row, show };
}

async function runSet(session: Session, text: string, value: string): Promise<Answer> {
  const name = settingName(text);
  const command = LOGIN_COMMANDS[name];
  if (command !== undefined) {
    throw new UsageError(
      "config set does not accept keys, because other users can see a program's arguments.",
      {
        hint: `To store the key: ${command}`,
      },
    );
  }
  const checked = await checkSetting(name, value, {
    settings: session.settings,
    context: session.context,
    matrix: async () => (await targetInEffect(session)).matrix(),
  });
  // `generator` does not require the profile, because setting a generator can create the profile.
  if (name !== "generator") session.requireProfile();
  const store = await session.settingsStore();
  requireOneService(name, await store.read(), session);
  await store.update({ [name]: checked });
  const { apiKeyBaseUrl: keyBaseUrl, generator } = await store.read();
  const isOtherService = name === "baseUrl" && keyBaseUrl !== undefined && keyBaseUrl !== checked;
  const { needsStoredGenerator } = await import("../../client/generator-settings.ts");
  const hasNoEffect = generator === undefined && needsStoredGenerator(name);
  const visibleValue = shownValue(name, checked);
  const { console } = session;
  return {
    json: { ok: true, name, value: visibleValue },
    show: () => console.note(`${name} is now ${visibleValue}`),
    after: async () => {
      if (isOtherService)
        await console.warn(
          `The stored API key belongs to ${keyBaseUrl}. To store a key for this service: imggen login`,
        );
      if (hasNoEffect)
        await console.warn(
          `${name} has no effect without a stored generator. To store a generator: ${session.inProfile("imggen config set generator <spec>")}`,
        );
    },
  };
}

/** @throws UsageError if the profile would have both a service and a generator */
function requireOneService(name: SettingName, stored: Settings, session: Session): void {
  const alternatives = { generator: "baseUrl", baseUrl: "generator" } as const;
  if (name !== "generator" && name !== "baseUrl") return;
  const otherValue = stored[alternatives[name]];
  if (otherValue === undefined) return;
  throw new UsageError(
    `${alternatives[name]} is set (${redactAddress(otherValue)}), and ${name} would replace it.`,
    {
      hint: `Nothing was stored. To remove ${alternatives[name]}: ${session.inProfile(`imggen config unset ${alternatives[name]}`)}\nTo keep both, create a profile: add --profile <name>`,
    },
  );
}

async function runUnset(session: Session, text: string): Promise<Answer> {
  const name = settingName(text);
  session.requireProfile();
  await (await session.settingsStore()).update({ [name]: undefined });
  const show = () => session.console.note(`${name} is no longer set.`);
  return { json: { ok: true, name, value: null }, show };
}

async function runPath(session: Session): Promise<Answer> {
  const { file } = await session.settingsStore();
  return { json: { ok: true, path: file }, show: () => session.console.resultLine({ path: file }) };
}
