import { SettingsStore } from "../store/settings-store.ts";
import type { ProcessContext } from "./this-process.ts";

// Apart from the settings in effect: most commands only read them.

/** The stored settings of a config folder, to be changed. */
export function openSettingsStore(
  folder: string,
  { processes }: Pick<ProcessContext, "processes">,
): SettingsStore {
  return new SettingsStore(folder, processes);
}
