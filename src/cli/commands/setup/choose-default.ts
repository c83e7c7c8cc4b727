import type { FoundGenerator } from "../../../client/find-generators.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import type { Settings } from "../../../store/settings-file.ts";
import type { SettingsStore } from "../../../store/settings-store.ts";
import { isOfGenerator, SETTING_NAMES, SETTINGS, type SettingName } from "../../../store/settings-table.ts";
import type { Session } from "../../session/session.ts";

const ATTEMPTS = 3;

/** The generator itself is replaced, and a key is bound to its address. */
const STAYS: ReadonlySet<SettingName> = new Set(["generator", "generatorKey"]);

/** Asks for the default generator, and stores it. */
export async function chooseDefault(
  all: readonly FoundGenerator[],
  store: SettingsStore,
  session: Session,
): Promise<number> {
  const chosen = await askWhich(all, session);
  if (chosen === null) {
    await session.console.note("Nothing was changed.");
    return 0;
  }
  const before = await store.read();
  const isNew = before.generator !== chosen.generator;
  const isStale = (name: SettingName) =>
    before[name] !== undefined && isOfGenerator(name) && !STAYS.has(name);
  const stale = isNew ? SETTING_NAMES.filter(isStale) : [];
  const model = chosen.needsModel ? (chosen.model ?? undefined) : undefined;
  await store.update({
    ...Object.fromEntries(stale.map((name) => [name, undefined])),
    generator: chosen.generator,
    ...((isNew || before.generatorModel === undefined) && { generatorModel: model }),
  });
  await tell(chosen, await store.read(), stale, store.file, session);
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
    const chosen = /^\d+$/.test(answer) ? all[Number(answer) - 1] : undefined;
    if (chosen !== undefined) return chosen;
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
  const { generator, generatorModel, model: named } = now;
  const ofModel = generatorModel === undefined ? "" : `, generatorModel ${generatorModel}`;
  await console.note(`generator is now ${generator}${ofModel}, in ${file}`);
  const removed = stale.filter((name) => now[name] === undefined);
  if (removed.length > 0)
    await console.note(`Removed, because it was for another generator: ${removed.join(", ")}.`);
  if (named !== undefined && generatorModel === undefined)
    await console.warn(
      `The setting model (${named}) applies to it too. To remove it: imggen config unset model`,
    );
  for (const name of ["generator", "baseUrl"] as const) {
    const { variable = "" } = SETTINGS[name];
    if (context.env[variable])
      await console.warn(`${variable} is set in this environment, and goes before it.`);
  }
  await console.note(paid ? "Its images are paid, price not known." : "Its images are free.");
  const needed =
    generator?.startsWith("comfyui:") && model === null ? ` --workflow ${shellWord("fox.json")}` : "";
  await console.note(`Next: ${session.inProfile('imggen generate "a red fox"')}${needed}`);
}
