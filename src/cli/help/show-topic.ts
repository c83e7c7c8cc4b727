import comfyui from "../../../.github/docs/help/comfyui.md?raw";
import options from "../../../.github/docs/help/generator-options.md?raw";
import generators from "../../../.github/docs/help/generators.md?raw";
import json from "../../../.github/docs/help/json.md?raw";
import manifests from "../../../.github/docs/help/manifests.md?raw";
import programs from "../../../.github/docs/help/programs.md?raw";
import scale from "../../../.github/docs/help/scale.md?raw";
import servers from "../../../.github/docs/help/servers.md?raw";
import services from "../../../.github/docs/help/services.md?raw";
import uploads from "../../../.github/docs/help/uploads.md?raw";
import { environmentPage } from "./environment.ts";
import { exitCodePage } from "./exit-code-table.ts";
import { layOutPage } from "./markdown.ts";
import { type HELP, TOPIC_NAMES, type TopicName } from "./topic-names.ts";

const OF_HELP = `Usage: imggen help [command|topic]

Show help for a command or a topic; without either, list the commands. With --json, as one JSON document.

Topics: ${TOPIC_NAMES.join(", ")}

## Examples

\`\`\`sh
imggen help generate
imggen help exit-codes
imggen help man | man -l -
\`\`\``;

/** Pages of Markdown. Those that list what the program has are generated. */
const PAGES: Readonly<Record<TopicName | typeof HELP, string>> = {
  help: OF_HELP,
  "exit-codes": exitCodePage(),
  environment: environmentPage(),
  json,
  manifests,
  scale,
  uploads,
  generators,
  "generator-options": options,
  servers,
  comfyui,
  services,
  programs,
};

/** A topic as it is shown in so many columns. */
export function topicLines(name: TopicName | typeof HELP, columns: number): string[] {
  return layOutPage(PAGES[name], columns);
}
