import type { Matrix } from "../models/matrix.ts";
import type { ProviderDeps } from "./deps.ts";
import { modelsAt } from "./openai/servers.ts";
import type { Provider } from "./provider.ts";
import { type GeneratorOptions, type GeneratorSpec, isPrivateHost } from "./spec.ts";

/** Loads a generator's code, and makes it. Nothing is sent or run. A command that uses no generator loads none of it. */
export async function openProvider(
  spec: GeneratorSpec,
  options: GeneratorOptions,
  deps: ProviderDeps,
): Promise<Provider> {
  switch (spec.kind) {
    case "openai": {
      const { OpenAiProvider } = await import("./openai/openai-provider.ts");
      return new OpenAiProvider(spec.url, options, deps);
    }
    case "sdapi":
      return (await import("./sdapi.ts")).sdapiProvider(spec.url, options, deps);
    case "comfyui":
      return (await import("./comfyui/comfyui-provider.ts")).comfyUiProvider(spec.url, options, deps);
    case "command":
      return (await import("./command/command-provider.ts")).commandProvider(spec.words, options, deps);
  }
}

/** Whether images are paid for, where the user does not say: all but a command's, and those of a private network. */
export function isPaidByDefault(spec: GeneratorSpec): boolean {
  return spec.kind !== "command" && !isPrivateHost(new URL(spec.url).hostname);
}

/** The models that a generator is known to have; it may have others. */
export function knownModels(spec: GeneratorSpec): Matrix {
  return (spec.kind === "openai" ? modelsAt(spec)?.known : undefined) ?? [];
}

/** What it makes images with where no model is named, if that is known. */
export function defaultModelOf(spec: GeneratorSpec): string | null {
  return (spec.kind === "openai" ? modelsAt(spec)?.default : undefined) ?? null;
}
