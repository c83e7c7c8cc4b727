import { SETTINGS } from "../../../store/settings-table.ts";
import { environmentTable } from "../environment.ts";
import type { Topic } from "../topic.ts";

export const TOPIC: Topic = [
  "A flag wins over the environment, the environment over the config file. imggen config list shows every value that applies, and where it comes from.",
  "",
  "Variables:",
  ...environmentTable().map(({ name, description }) => [name, description] as const),
  "",
  "Settings (imggen config):",
  ...Object.entries(SETTINGS).map(([name, { help }]) => [name, help] as const),
];
