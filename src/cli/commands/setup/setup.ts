import type { Command } from "commander";
import type {
  FoundGenerator,
  FoundServer,
  FoundService,
  LockedServer,
} from "../../../client/find-generators.ts";
import { shownAddress } from "../../../lib/query-secret.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { counted } from "../../../lib/whole-number.ts";
import { canAsk } from "../../input/input-stream.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { showTable, type TableColumn } from "../../text/table.ts";

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
interface Found {
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
  const { findServers, findServices, LOCAL_PORTS } = await import("../../../client/find-generators.ts");
  const { KEY_VARIABLES } = await import("../../../providers/kinds.ts");
  const { context, console, options } = session;
  const ports = context.localPorts ?? LOCAL_PORTS;
  const { servers, locked } = await findServers(ports, context.signal, session);
  const services = findServices(session);
  const found: Found = { ports, variables: KEY_VARIABLES, servers, locked, services };
  if (options.json) {
    await console.json({
      ok: true,
      ...found,
      apiKey: hasApiKey(session),
      default: current,
      file: store.file,
    });
    return 0;
  }
  const all = [...found.servers, ...found.services];
  if (all.length > 0) await showFound(found, session);
  else if (locked.length === 0) await console.note(nothingFound(found, session));
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
      `This profile is for ${shownAddress(baseUrl)}, so nothing was changed.`,
      "To use a generator beside it, make a profile: imggen setup --profile local",
    ]);
    return 0;
  }
  if (!canAsk(session)) {
    await console.note(["Nothing was changed. To set the default:", ...commandsFor(all, session)]);
    return 0;
  }
  const { chooseDefault } = await import("./choose-default.ts");
  return chooseDefault(all, store, session);
}

function hasApiKey({ context }: Session): boolean {
  return Boolean(context.env.IMGGEN_API_KEY);
}

const COLUMNS: readonly TableColumn[] = [
  { heading: "#", keep: true },
  { heading: "GENERATOR", keep: true },
  { heading: "MODEL" },
  { heading: "COST" },
  { heading: "FOUND BY", spare: true, whole: true },
];

async function showFound({ servers, services }: Found, session: Session): Promise<void> {
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
  return models.length > 1 ? `, ${counted(models.length, "model")}` : "";
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

function nothingFound({ ports, variables }: Found, session: Session): string[] {
  return [
    `No server for images answers on the ports ${ports.join(", ")} of this machine, and no service's key is in the environment (${variables.join(", ")}).`,
    "To try without an account, free of charge: imggen generate <prompt> --sandbox",
    `To use the service: ${session.inProfile("imggen login --base-url <url>")}`,
    `To use a generator elsewhere: ${session.inProfile("imggen login --generator <spec>")}`,
    "To see which generators there are: imggen help generators",
  ];
}
