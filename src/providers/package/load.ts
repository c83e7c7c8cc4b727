import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { fieldsOf, isTexts } from "../../lib/json.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { bearer, SERVICE, type ServerKind } from "../kind.ts";
import type { PackageName, PackageSpec } from "../kinds.ts";
import { callPackage } from "./call-package.ts";
import type { ProviderPackage } from "./interface.ts";

/** Where packages are installed: in this folder's `node_modules`. */
export function packagesFolder(configFolder: string): string {
  return path.join(configFolder, "providers");
}

/**
 * The package of a spec, as it is installed for imggen: never from the current folder, or one above it.
 * @throws UsageError where it is not there, or is none
 */
export function installedPackage(spec: PackageName, configFolder: string): PackageSpec {
  const folder = packagesFolder(configFolder);
  const modules = path.join(folder, "node_modules");
  if (!existsSync(path.join(modules, spec.package, "package.json")))
    throw new UsageError(`The package ${spec.package} is not installed for imggen.`, {
      hint: `Nothing was sent. Install it: npm install --prefix ${shellWord(folder)} ${spec.package}`,
    });
  // Of a file in it, so that nothing else is looked in before it.
  const load = createRequire(path.join(modules, "imggen.cjs"));
  const { definition, version } = loaded(spec.package, load, modules);
  const url = spec.url ?? definition.url.replace(/\/+$/, "");
  return { ...spec, url, version: `${spec.package}@${version}`, server: kindOf(definition) };
}

function loaded(
  name: string,
  load: NodeJS.Require,
  modules: string,
): { definition: ProviderPackage; version: string } {
  let exported: unknown;
  let version: unknown;
  try {
    version = fieldsOf(load(path.join(modules, name, "package.json"))).version;
    exported = load(name);
  } catch (cause) {
    throw new UsageError(`The package ${name} cannot be loaded: ${errorText(cause)}.`, {
      hint: "Nothing was sent. A package is one CommonJS or ES module without a top-level await.",
      cause,
    });
  }
  const { default: byDefault = exported } = fieldsOf(exported);
  const problem = problemOf(byDefault);
  if (problem === null) return { definition: byDefault as ProviderPackage, version: String(version) };
  throw new UsageError(`The package ${name} makes no images for this imggen: ${problem}.`, {
    hint: "Nothing was sent. What a package must export: imggen help generators",
  });
}

function problemOf(exported: unknown): string | null {
  const fields = fieldsOf(exported);
  const { version, url, title, create } = fields;
  if (version !== 1) return `its version is ${JSON.stringify(version)}, and 1 is known`;
  if (typeof url !== "string" || !/^https?:/.test(url) || !URL.canParse(url)) return "it has no url";
  if (typeof title !== "string" || typeof create !== "function") return "it has no title, or no create";
  const wrong = Object.entries(OPTIONAL).find(
    ([name, { is }]) => fields[name] !== undefined && !is(fields[name]),
  );
  return wrong ? `its ${wrong[0]} is not ${wrong[1].what}` : null;
}

const NAMES = { is: isTexts, what: "a list of texts" };

/** What fields are that a package need not have. */
const OPTIONAL: Readonly<Record<string, { is: (value: unknown) => boolean; what: string }>> = {
  keyVariables: NAMES,
  settings: NAMES,
  concurrency: {
    is: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
    what: "a whole number (1 or more)",
  },
  // Without the dot, the key would go to anybody's domain whose name ends alike.
  otherHosts: {
    is: (value) => typeof value === "string" && value.startsWith("."),
    what: "the end of host names, which begins with a dot",
  },
};

function kindOf(definition: ProviderPackage): ServerKind {
  const { title, url, keyVariables = [], isPaid, needsModel = false } = definition;
  return {
    ...SERVICE,
    title,
    url,
    keyVariables,
    keyHeaders: (key) => callPackage(title, () => definition.keyHeaders?.(key)) ?? bearer(key),
    ...(isPaid !== undefined && { isPaid }),
    concurrency: definition.concurrency ?? SERVICE.concurrency,
    needsModel,
    fieldNamesAt: () => definition.fieldNames ?? {},
    open: async (setup, deps) =>
      (await import("./package-provider.ts")).packageProvider(setup, definition, deps),
  };
}
