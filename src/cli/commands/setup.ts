import type { Command } from "commander";
import { getSettingRow, SETTING_LIST } from "../../client/effective-settings.ts";
import type {
  FoundGenerator,
  FoundServer,
  FoundService,
  LockedServer,
} from "../../client/find-generators.ts";
import { redactAddress } from "../../lib/query-secret.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { pluralize } from "../../lib/whole-number.ts";
import type { Settings } from "../../store/settings-file.ts";
import type { SettingsStore } from "../../store/settings-store.ts";
import type { SettingName } from "../../store/settings-table.ts";
import { canAsk } from "../input/input-stream.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { showTable, type TableColumn } from "../text/table.ts";

const EXAMPLES = `
Examples:
  $ imggen setup
  $ imggen setup --profile local
  $ imggen setup --json`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description(
      "Find servers on this machine and API keys in the environment, and set the default generator.\n" +
        "Checks the default ports of image servers. Sends and shows no key, and costs nothing. On a terminal, asks for the default generator. With --json or without a terminal, changes nothing.",
    )
    .addHelpText("after", EXAMPLES)
    .action(runWith(runSetup));
}

interface SearchResult {
  ports: readonly number[];
  variables: readonly string[];
  servers: readonly FoundServer[];
  locked: readonly LockedServer[];
  services: readonly FoundService[];
}

async function runSetup(session: Session): Promise<number> {
  const store = await session.settingsStore();
  // A damaged file is reported before the search. The profile is not required, because setup can create it.
  const { baseUrl, generator: current = null } = await store.read();
  const { findServers, findServices, LOCAL_PORTS } = await import("../../client/find-generators.ts");
  const { generatorKeys } = await import("../../client/generator-settings.ts");
  const { context, console, options } = session;
  const ports = context.localPorts ?? LOCAL_PORTS;
  const { servers, locked } = await findServers(ports, context.signal, session);
  const services = findServices(session);
  const result: SearchResult = {
    ports,
    variables: generatorKeys().map(({ variable }) => variable),
    servers,
    locked,
    services,
  };
  if (options.json) {
    await console.json({
      ok: true,
      ...result,
      apiKey: hasApiKey(session),
      default: current,
      file: store.file,
    });
    return 0;
  }
  const all = [...result.servers, ...result.services];
  if (all.length > 0) await showFound(result, session);
  else if (locked.length === 0) await console.note(nothingFound(result, session));
  for (const { port, generator } of locked)
    await console.note(
      `The server on port ${port} requires a key. To store the key: ${session.inProfile(`imggen login --generator ${shellWord(generator)}`)}`,
    );
  if (hasApiKey(session) && baseUrl === undefined && !context.env.IMGGEN_BASE_URL)
    await console.note(
      `IMGGEN_API_KEY is set. To use the key, store the address of its service: ${session.inProfile("imggen login --base-url <url>")}`,
    );
  if (all.length === 0) return 0;
  if (baseUrl !== undefined) {
    await console.note([
      `This profile uses ${redactAddress(baseUrl)}, so nothing was changed.`,
      "To use a generator as well, create a profile: imggen setup --profile local",
    ]);
    return 0;
  }
  if (!canAsk(session)) {
    await console.note(["Nothing was changed. To set the default generator:", ...setCommands(all, session)]);
    return 0;
  }
  return chooseDefault(all, store, session);
}

function hasApiKey({ context }: Session): boolean {
  return Boolean(context.env.IMGGEN_API_KEY);
}

const COLUMNS: readonly TableColumn[] = [
  { heading: "#", required: true },
  { heading: "GENERATOR", required: true },
  { heading: "MODEL" },
  { heading: "COST" },
  { heading: "FOUND BY", omitFirst: true, neverCut: true },
];

async function showFound({ servers, services }: SearchResult, session: Session): Promise<void> {
  const rows = [
    ...servers.map((server) => ({ ...server, by: `port ${server.port}${modelCount(server)}` })),
    ...services.map((service) => ({ ...service, by: service.variable })),
  ];
  const cells = rows.map(({ generator, model, paid, by }, at) => {
    return [String(at + 1), generator, model ?? "-", paid ? "paid" : "free", by];
  });
  await showTable(COLUMNS, cells, session);
  if (servers.some(({ generator }) => generator.startsWith("openai:")))
    await session.console.note("Some models of an OpenAI-compatible server may not support images.");
}

function modelCount({ models }: FoundServer): string {
  return models.length > 1 ? `, ${pluralize(models.length, "model")}` : "";
}

function setCommands(all: readonly FoundGenerator[], session: Session): string[] {
  const set = (name: string, value: string) =>
    session.inProfile(`imggen config set ${name} ${shellWord(value)}`);
  return all.map(({ generator, model, needsModel }) => {
    const modelText = needsModel && model !== null ? ` && ${set("generatorModel", model)}` : "";
    return `  ${set("generator", generator)}${modelText}`;
  });
}

function nothingFound({ ports, variables }: SearchResult, session: Session): string[] {
  return [
    `No image server was found on ports ${ports.join(", ")} of this machine, and no API key in the environment (${variables.join(", ")}).`,
    "To try imggen free and without an account: imggen generate <prompt> --sandbox",
    `To use the service: ${session.inProfile("imggen login --base-url <url>")}`,
    `To use a generator at another address: ${session.inProfile("imggen login --generator <spec>")}`,
    "To list the supported generators: imggen help generators",
  ];
}

const MAX_ATTEMPTS = 3;

/** Settings not to remove for a new generator. `generator` is replaced, and `generatorKey` is bound to an address. */
const RETAINED_SETTINGS: ReadonlySet<SettingName> = new Set(["generator", "generatorKey"]);

async function chooseDefault(
  all: readonly FoundGenerator[],
  store: SettingsStore,
  session: Session,
): Promise<number> {
  const selection = await askWhich(all, session);
  if (selection === null) {
    await session.console.note("Nothing was changed.");
    return 0;
  }
  const previous = await store.read();
  const isNew = previous.generator !== selection.generator;
  const staleNames = (isNew ? SETTING_LIST : [])
    .filter(
      ({ name, isOfGenerator }) =>
        previous[name] !== undefined && isOfGenerator && !RETAINED_SETTINGS.has(name),
    )
    .map(({ name }) => name);
  const model = selection.needsModel ? (selection.model ?? undefined) : undefined;
  await store.update({
    ...Object.fromEntries(staleNames.map((name) => [name, undefined])),
    generator: selection.generator,
    ...((isNew || previous.generatorModel === undefined) && { generatorModel: model }),
  });
  await showSelection(selection, await store.read(), staleNames, store.file, session);
  return 0;
}

/** @returns null if the user chooses no generator @throws the reason of the signal if it is aborted */
async function askWhich(all: readonly FoundGenerator[], session: Session): Promise<FoundGenerator | null> {
  const { context, console } = session;
  const range = all.length === 1 ? "1" : `1-${all.length}`;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const answer = (
      await context.ask(`Which generator should be the default? [${range}, Enter for none] `)
    ).trim();
    context.signal.throwIfAborted();
    if (answer === "") return null;
    const choice = /^\d+$/.test(answer) ? all[Number(answer) - 1] : undefined;
    if (choice !== undefined) return choice;
    await console.warn(`${JSON.stringify(answer)} is not a number in the list.`);
  }
  return null;
}

async function showSelection(
  { model, paid }: FoundGenerator,
  current: Settings,
  staleNames: readonly SettingName[],
  file: string,
  session: Session,
): Promise<void> {
  const { console, context } = session;
  const { generator, generatorModel, model: defaultModel } = current;
  const modelText = generatorModel === undefined ? "" : `, generatorModel ${generatorModel}`;
  await console.note(`generator is now ${generator}${modelText}, in ${file}`);
  const removed = staleNames.filter((name) => current[name] === undefined);
  if (removed.length > 0)
    await console.note(`Removed the settings of the previous generator: ${removed.join(", ")}.`);
  if (defaultModel !== undefined && generatorModel === undefined)
    await console.warn(
      `The setting model (${defaultModel}) also applies to this generator. To remove this setting: imggen config unset model`,
    );
  for (const name of ["generator", "baseUrl"] as const) {
    const { variable = "" } = getSettingRow(name);
    if (context.env[variable])
      await console.warn(`${variable} is set in the environment and overrides the stored generator.`);
  }
  await console.note(paid ? "Images cost money, and their price is unknown." : "Images are free.");
  const workflowFlag =
    generator?.startsWith("comfyui:") && model === null ? ` --workflow ${shellWord("fox.json")}` : "";
  await console.note(`Next: ${session.inProfile('imggen generate "a red fox"')}${workflowFlag}`);
}
