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
      "Find servers on this machine and keys in the environment, and set the default generator.\n" +
        "It asks the usual ports of such servers. No key is sent or shown, and it costs nothing. On a terminal you choose the default; with --json or without a terminal nothing is changed.",
    )
    .addHelpText("after", EXAMPLES)
    .action(runWith(runSetup));
}

/** The generators that were found, and where they were searched for. */
interface SearchResult {
  ports: readonly number[];
  /** The variables that may hold a service's key. */
  variables: readonly string[];
  servers: readonly FoundServer[];
  locked: readonly LockedServer[];
  services: readonly FoundService[];
}

async function runSetup(session: Session): Promise<number> {
  const store = await session.settingsStore();
  // A damaged settings file is reported before anything is asked. The profile need not be there yet.
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
      `The server on port ${port} requires a key. To store it: ${session.inProfile(`imggen login --generator ${shellWord(generator)}`)}`,
    );
  if (hasApiKey(session) && baseUrl === undefined && !context.env.IMGGEN_BASE_URL)
    await console.note(
      `IMGGEN_API_KEY is set. To use the service that it is for: ${session.inProfile("imggen login --base-url <url>")}`,
    );
  if (all.length === 0) return 0;
  if (baseUrl !== undefined) {
    await console.note([
      `This profile is for ${redactAddress(baseUrl)}, so nothing was changed.`,
      "To use a generator beside it, make a profile: imggen setup --profile local",
    ]);
    return 0;
  }
  if (!canAsk(session)) {
    await console.note(["Nothing was changed. To set the default:", ...commandsFor(all, session)]);
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
    await session.console.note("An OpenAI-compatible server may have models that make no images.");
}

function modelCount({ models }: FoundServer): string {
  return models.length > 1 ? `, ${pluralize(models.length, "model")}` : "";
}

/** A command for each generator, with a model if it needs one. */
function commandsFor(all: readonly FoundGenerator[], session: Session): string[] {
  const set = (name: string, value: string) =>
    session.inProfile(`imggen config set ${name} ${shellWord(value)}`);
  return all.map(({ generator, model, needsModel }) => {
    const ofModel = needsModel && model !== null ? ` && ${set("generatorModel", model)}` : "";
    return `  ${set("generator", generator)}${ofModel}`;
  });
}

function nothingFound({ ports, variables }: SearchResult, session: Session): string[] {
  return [
    `No server for images answers on the ports ${ports.join(", ")} of this machine, and no service's key is in the environment (${variables.join(", ")}).`,
    "To try without an account, free of charge: imggen generate <prompt> --sandbox",
    `To use the service: ${session.inProfile("imggen login --base-url <url>")}`,
    `To use a generator elsewhere: ${session.inProfile("imggen login --generator <spec>")}`,
    "To see which generators there are: imggen help generators",
  ];
}

const ATTEMPTS = 3;

/** The generator itself is replaced, and a key is bound to its address. */
const STAYS: ReadonlySet<SettingName> = new Set(["generator", "generatorKey"]);

/** Asks for the default generator, and stores it. */
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
  const before = await store.read();
  const isNew = before.generator !== selection.generator;
  const stale = (isNew ? SETTING_LIST : [])
    .filter(({ name, isOfGenerator }) => before[name] !== undefined && isOfGenerator && !STAYS.has(name))
    .map(({ name }) => name);
  const model = selection.needsModel ? (selection.model ?? undefined) : undefined;
  await store.update({
    ...Object.fromEntries(stale.map((name) => [name, undefined])),
    generator: selection.generator,
    ...((isNew || before.generatorModel === undefined) && { generatorModel: model }),
  });
  await tell(selection, await store.read(), stale, store.file, session);
  return 0;
}

/** @returns null if none is chosen @throws the signal's reason */
async function askWhich(all: readonly FoundGenerator[], session: Session): Promise<FoundGenerator | null> {
  const { context, console } = session;
  const which = all.length === 1 ? "1" : `1-${all.length}`;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const answer = (await context.ask(`Which one should be the default? [${which}, Enter for none] `)).trim();
    context.signal.throwIfAborted();
    if (answer === "") return null;
    const choice = /^\d+$/.test(answer) ? all[Number(answer) - 1] : undefined;
    if (choice !== undefined) return choice;
    await console.warn(`${JSON.stringify(answer)} is not one of them.`);
  }
  return null;
}

/** Says what was set, what it costs, and what to do next. */
async function tell(
  { model, paid }: FoundGenerator,
  now: Settings,
  stale: readonly SettingName[],
  file: string,
  session: Session,
): Promise<void> {
  const { console, context } = session;
  const { generator, generatorModel, model: defaultModel } = now;
  const ofModel = generatorModel === undefined ? "" : `, generatorModel ${generatorModel}`;
  await console.note(`generator is now ${generator}${ofModel}, in ${file}`);
  const removed = stale.filter((name) => now[name] === undefined);
  if (removed.length > 0)
    await console.note(`Removed, because it was for another generator: ${removed.join(", ")}.`);
  if (defaultModel !== undefined && generatorModel === undefined)
    await console.warn(
      `The setting model (${defaultModel}) applies to it too. To remove it: imggen config unset model`,
    );
  for (const name of ["generator", "baseUrl"] as const) {
    const { variable = "" } = getSettingRow(name);
    if (context.env[variable])
      await console.warn(`${variable} is set in this environment, and overrides it.`);
  }
  await console.note(paid ? "Its images are paid, price not known." : "Its images are free.");
  const workflowFlag =
    generator?.startsWith("comfyui:") && model === null ? ` --workflow ${shellWord("fox.json")}` : "";
  await console.note(`Next: ${session.inProfile('imggen generate "a red fox"')}${workflowFlag}`);
}
