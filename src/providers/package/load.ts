import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { fieldsOf, isTexts, jsonOrNull } from "../../lib/json.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { action, phrase } from "../../lib/wording.ts";
import { bearerHeaders, SERVICE_DEFAULTS, type ServerKind } from "../kind.ts";
import type { PackageName, PackageSpec } from "../kinds.ts";
import type { ProviderPackage, ProviderSetup } from "./interface.ts";
import { PackageThread } from "./package-thread.ts";

/** Returns the folder in which the user installs packages. npm creates a `node_modules` folder in it. */
export function packagesFolder(configFolder: string): string {
  return path.join(configFolder, "providers");
}

/**
 * Loads a package only from imggen's folder, because other folders might contain untrusted packages.
 * @throws UsageError if the package is missing or invalid
 */
export function installedPackage(spec: PackageName, configFolder: string): PackageSpec {
  const folder = packagesFolder(configFolder);
  const modules = path.join(folder, "node_modules");
  if (!existsSync(path.join(modules, spec.package, "package.json")))
    throw new UsageError(`The package ${spec.package} is not installed for imggen.`, {
      hint: `Nothing was sent. Install it: npm install --prefix ${shellWord(folder)} ${spec.package}`,
    });
  const { definition, version } = loadPackage(spec.package, modules, folder);
  const url = spec.url ?? definition.url.replace(/\/+$/, "");
  return { ...spec, url, version: `${spec.package}@${version}`, server: toServerKind(definition) };
}

/** Returns the key variables of installed packages. Skips packages that cannot be loaded, and never throws. */
export function installedKeyVariables(configFolder: string): string[] {
  const folder = packagesFolder(configFolder);
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) return [];
  const { dependencies } = fieldsOf(jsonOrNull(readFileSync(file, "utf8")));
  return Object.keys(fieldsOf(dependencies)).flatMap((name) => {
    try {
      return loadPackage(name, path.join(folder, "node_modules"), folder).definition.keyVariables ?? [];
    } catch {
      return [];
    }
  });
}

interface Loaded {
  definition: ProviderPackage;
  version: string;
}

/** Loaded packages by path of their package.json. The cache ensures that each package has only one thread. */
const packages = new Map<string, Loaded>();

function loadPackage(name: string, modules: string, folder: string): Loaded {
  const file = path.join(modules, name, "package.json");
  const cachedPackage = packages.get(file);
  if (cachedPackage !== undefined) return cachedPackage;
  const loadedPackage = readPackage(name, file, modules, folder);
  const problem = findProblem(loadedPackage.definition);
  if (problem !== null)
    throw new UsageError(`The package ${name} cannot be used by this version of imggen: ${problem}.`, {
      hint: ["Nothing was sent.", phrase`For the required exports: ${action("help", "npm")}`],
    });
  packages.set(file, loadedPackage);
  return loadedPackage;
}

/** @throws UsageError */
function readPackage(name: string, file: string, modules: string, folder: string): Loaded {
  try {
    const { version } = fieldsOf(JSON.parse(readFileSync(file, "utf8")));
    return { definition: new PackageThread(modules, name).load(), version: String(version) };
  } catch (cause) {
    const why = errorText(cause);
    const installCommand = `npm install --prefix ${shellWord(folder)} ${name}`;
    const isMissing = /^Cannot find (?:package|module)\b/.test(why);
    throw new UsageError(`The package ${name} cannot be loaded: ${why.replace(/\.$/, "")}.`, {
      hint: `Nothing was sent. ${isMissing ? `Install it with its dependencies: ${installCommand}` : "Report the error to the author of the package."}`,
      cause,
    });
  }
}

function findProblem(exported: unknown): string | null {
  const fields = fieldsOf(exported);
  const { version, url, title, create } = fields;
  if (version !== 1)
    return `its exported version is ${JSON.stringify(version)}, and only version 1 is supported`;
  if (typeof url !== "string" || !/^https?:/.test(url) || !URL.canParse(url)) return "it has no url";
  if (typeof title !== "string" || typeof create !== "function")
    return "it has no title or no create function";
  const invalidField = Object.entries(OPTIONAL_FIELDS).find(
    ([name, { isValid }]) => fields[name] !== undefined && !isValid(fields[name]),
  );
  return invalidField ? `its field ${invalidField[0]} is not ${invalidField[1].description}` : null;
}

const STRING_LIST = { isValid: isTexts, description: "a list of strings" };

const OPTIONAL_FIELDS: Readonly<
  Record<string, { isValid: (value: unknown) => boolean; description: string }>
> = {
  keyVariables: STRING_LIST,
  settings: STRING_LIST,
  concurrency: {
    isValid: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
    description: "1 or a larger whole number",
  },
  // The dot is required, because `example.com` would also match `badexample.com`, which must not receive the key.
  otherHosts: {
    isValid: (value) => typeof value === "string" && value.startsWith("."),
    description: "a suffix of host names that begins with a dot",
  },
};

function toServerKind(definition: ProviderPackage): ServerKind {
  const { title, url, keyVariables = [], isPaid, needsModel = false } = definition;
  return {
    ...SERVICE_DEFAULTS,
    title,
    url,
    keyVariables,
    keyHeaders: (key) => callPackage(title, () => definition.keyHeaders?.(key)) ?? bearerHeaders(key),
    ...(isPaid !== undefined && { isPaid }),
    concurrency: definition.concurrency ?? SERVICE_DEFAULTS.concurrency,
    needsModel,
    fieldNamesAt: () => definition.fieldNames ?? {},
    open: async (setup, deps) => {
      const { packageProvider } = await import("./package-provider.ts");
      const create = (providerSetup: ProviderSetup) =>
        callPackage(title, () => definition.create(providerSetup));
      return packageProvider(setup, { ...definition, create }, deps);
    },
  };
}

/** @throws UsageError for any error of the package */
function callPackage<Result>(title: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw new UsageError(`The package for ${title} cannot be used: ${errorText(cause)}.`, {
      hint: "Nothing was sent. Report the error to the author of the package.",
      cause,
    });
  }
}
