import type { OptionNames } from "../lib/wording.ts";

/** How messages name what an agent can give in a call. The rest is for the user who has set the server up. */
export const AGENT_NAMES: OptionNames = {
  output: "output",
  name: "output",
  overwrite: "another output",
  again: "reuse: false",
  maxCredits: "maxCredits",
  noValidate: "another model",
  noWait: "waitSeconds: 0",
  budget: "maxCredits",
  yes: "the user's consent",
  home: "IMGGEN_HOME",
  retryFailed: "reuse: false",
  resubmitUnknown: "reuse: false",
  sandbox: "the sandbox",
  trySandbox: "ask the user to start this server in its sandbox",
  setApiKey: "Ask the user to run imggen login: the next call uses the new key.",
  setBaseUrl: "Ask the user to run imggen login: the next call uses what it stores.",
  reference: "Nothing was sent. The description of this tool says what it takes.",
};

const ID = String.raw`(?:-- )?'?([\w.:-]*[\d_][\w.:-]*)'?`;

/** Commands in messages, and what an agent does in their place. */
const CALLS: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`imggen resume ${ID} --dismiss`, "g"), "ask the user"],
  [new RegExp(`imggen resume ${ID}`, "g"), 'call get_task with taskId "$1"'],
  [/imggen resume\b(?! -)/g, "call resume_tasks"],
  [
    new RegExp(`imggen rerun ${ID}(?: --sandbox)?`, "g"),
    "call generate_image with the same arguments and reuse: false",
  ],
  [/(?:run )?imggen rerun <task id>/g, "generate_image with reuse: false"],
  [/(?:run )?imggen models(?: [\w./-]+)?/g, "call list_models"],
  [/imggen history\b/g, "call history"],
  [/(?:Run|Store[^:]*): imggen login\b[^\n.]*/g, "Ask the user to run imggen login."],
  [/imggen login\b(?: --?[a-z][^\n.]*)?/g, "imggen login"],
  [/ \(imggen help [a-z-]+\)/g, ""],
  [/running it again/g, "reuse: false"],
  [/run (?:it|the same command) again/gi, "make the same call again"],
];

/** The commands but `login`, which is for the user. Other sentences about imggen itself are for the agent. */
const COMMANDS =
  "batch|cancel|compare|completion|config|doctor|gallery|generate|help|history|logout|mcp|models|rerun|resume|sandbox|serve|setup|show|skill|status";

/** What is still about the command line is for nobody here. */
const OF_COMMAND_LINE = new RegExp(String.raw`(?:^|[\s(])--[a-z]|\bimggen (?:${COMMANDS})\b`);

/**
 * Advice for an agent: what it or its user can do. A line that is still about options of the command line is left out.
 * @param text a message or a hint of imggen
 */
export function adviceForAgents(text: string): string {
  const called = CALLS.reduce((line, [command, call]) => line.replace(command, call), text);
  return called
    .split("\n")
    .map((line) =>
      sentencesOf(line)
        .filter((sentence) => !OF_COMMAND_LINE.test(sentence))
        .join(" "),
    )
    .filter((line) => line !== "")
    .join("\n");
}

function sentencesOf(line: string): string[] {
  return line.split(/(?<=[.?!])\s+(?=[A-Z])/);
}
