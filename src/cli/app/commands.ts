import { GENERATOR, GLOBAL } from "../../client/options/global-options.ts";
import { longFlag, type Options } from "../../client/options/option.ts";
import type { CommandModule } from "../session/command.ts";
import type { GlobalOptions } from "../session/session.ts";

interface CommandEntry {
  group: "Create" | "Tasks" | "Models" | "Account" | "Servers" | "Agents" | "Setup";
  summary: string;
  /** Global flags that the command rejects, because they would have no effect. */
  refuses?: readonly (keyof GlobalOptions)[];
  load: () => Promise<CommandModule>;
}

/** All commands, in the order of the help. The code of a command is loaded only to run or describe that command. */
export const COMMANDS: Record<string, CommandEntry> = {
  generate: {
    group: "Create",
    summary: "generate an image from a prompt and save it",
    load: () => import("../commands/generate.ts"),
  },
  batch: {
    group: "Create",
    summary: "generate many images from a manifest; repeat the command to resume",
    load: () => import("../commands/batch/batch.ts"),
  },
  compare: {
    group: "Create",
    summary: "generate one prompt with several models, ratios and qualities",
    load: () => import("../commands/compare.ts"),
  },
  rerun: {
    group: "Create",
    summary: "submit the request of an image or task again (charged again, unless free)",
    load: () => import("../commands/rerun.ts"),
  },
  status: {
    group: "Tasks",
    summary: "show the status of tasks",
    load: () => import("../commands/status.ts"),
  },
  resume: {
    group: "Tasks",
    summary: "finish tasks that were not saved",
    load: () => import("../commands/resume.ts"),
  },
  cancel: {
    group: "Tasks",
    summary: "cancel waiting and running tasks",
    load: () => import("../commands/cancel.ts"),
  },
  history: {
    group: "Tasks",
    summary: "list the tasks of this machine",
    load: () => import("../commands/history/history.ts"),
  },
  forget: {
    group: "Tasks",
    summary: "remove the records of finished tasks",
    refuses: ["profile", "generator"],
    load: () => import("../commands/forget.ts"),
  },
  show: {
    group: "Tasks",
    summary: "show images in the terminal",
    refuses: ["profile", "generator"],
    load: () => import("../commands/show.ts"),
  },
  gallery: {
    group: "Tasks",
    summary: "make an HTML page of saved images",
    refuses: ["profile", "generator"],
    load: () => import("../commands/gallery.ts"),
  },
  models: {
    group: "Models",
    summary: "show what each model can do, and what it costs",
    load: () => import("../commands/models.ts"),
  },
  login: {
    group: "Account",
    summary: "store the API key and the base URL",
    refuses: ["sandbox"],
    load: () => import("../commands/login.ts"),
  },
  logout: {
    group: "Account",
    summary: "remove the API key, the base URL and the generator",
    refuses: ["sandbox", "generator"],
    load: () => import("../commands/logout.ts"),
  },
  config: {
    group: "Account",
    summary: "show and change settings",
    refuses: ["sandbox", "generator"],
    load: () => import("../commands/config.ts"),
  },
  sandbox: {
    group: "Servers",
    summary: "serve the service's API on this machine for tests, at no cost",
    refuses: ["sandbox", "generator"],
    load: () => import("../commands/sandbox.ts"),
  },
  serve: {
    group: "Servers",
    summary: "serve the service's API on this machine with your own generator",
    refuses: ["sandbox"],
    load: () => import("../commands/serve.ts"),
  },
  mcp: {
    group: "Agents",
    summary: "run a Model Context Protocol (MCP) server for agents",
    refuses: ["json"],
    load: () => import("../commands/mcp.ts"),
  },
  skill: {
    group: "Agents",
    summary: "print or install a skill that teaches a coding agent to use imggen",
    refuses: ["sandbox", "profile", "generator"],
    load: () => import("../commands/skill.ts"),
  },
  setup: {
    group: "Setup",
    summary: "find servers and API keys, and set the default generator",
    refuses: ["sandbox", "generator"],
    load: () => import("../commands/setup.ts"),
  },
  doctor: {
    group: "Setup",
    summary: "check the installation, the account and the network",
    load: () => import("../commands/doctor/doctor.ts"),
  },
  completion: {
    group: "Setup",
    summary: "print a script that completes commands in a shell",
    refuses: ["sandbox", "profile", "generator"],
    load: () => import("../commands/completion.ts"),
  },
};

export function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name);
}

export function refusedGlobals(command: string): string[] {
  return (COMMANDS[command]?.refuses ?? []).flatMap((name) =>
    name === "generator" ? Object.keys(GENERATOR) : [name],
  );
}

export function globalFlag(name: string): string {
  const rows: Options = { ...GLOBAL, ...GENERATOR };
  return rows[name] ? longFlag(rows[name]) : "";
}
