import type { Matrix } from "../models/matrix.ts";
import type { Generator, GeneratorDeps } from "./generator.ts";
import { modelsAt } from "./openai/models.ts";
import { isPrivateHost } from "./private-host.ts";
import type { GeneratorOptions, GeneratorSpec } from "./spec.ts";

type KindName = GeneratorSpec["kind"];
type SpecOf<Name extends KindName> = GeneratorSpec & { kind: Name };

/** What there is to know about one kind of generator before its code is loaded. */
interface Kind<Name extends KindName> {
  /** Loaded late: a command that uses no generator loads none of it. */
  load(): Promise<(spec: SpecOf<Name>, options: GeneratorOptions, deps: GeneratorDeps) => Generator>;
  /** Whether its images are paid for, where the user does not say. */
  isPaid(spec: SpecOf<Name>): boolean;
  /** The models that it is known to have; absent where nothing is known. It may have others. */
  models?(spec: SpecOf<Name>): { known: Matrix; default: string } | null;
}

/** Every kind of generator. A new one is a file that makes a `Generator`, and an entry here. */
const KINDS: { readonly [Name in KindName]: Kind<Name> } = {
  openai: {
    load: async () => (await import("./openai/openai-generator.ts")).openAiGenerator,
    isPaid: isOnThePublicInternet,
    models: modelsAt,
  },
  sdapi: {
    load: async () => (await import("./sdapi.ts")).sdapiGenerator,
    isPaid: isOnThePublicInternet,
  },
  command: {
    load: async () => (await import("./command/command-generator.ts")).commandGenerator,
    isPaid: () => false,
  },
};

/** Loads a generator's code, and makes it. Nothing is sent or run. */
export async function openGenerator(
  spec: GeneratorSpec,
  options: GeneratorOptions,
  deps: GeneratorDeps,
): Promise<Generator> {
  const make = await kindOf(spec).load();
  return make(spec, options, deps);
}

/** Whether images are paid for, where the user does not say: all but a command's, and those of a private network. */
export function isPaidByDefault(spec: GeneratorSpec): boolean {
  return kindOf(spec).isPaid(spec);
}

/** The models that a generator is known to have; it may have others. */
export function knownModels(spec: GeneratorSpec): Matrix {
  return kindOf(spec).models?.(spec)?.known ?? [];
}

/** What it makes images with where no model is named, if that is known. */
export function defaultModelOf(spec: GeneratorSpec): string | null {
  return kindOf(spec).models?.(spec)?.default ?? null;
}

function isOnThePublicInternet({ url }: { url: string }): boolean {
  return !isPrivateHost(new URL(url).hostname);
}

function kindOf<Name extends KindName>(spec: SpecOf<Name>): Kind<Name> {
  return KINDS[spec.kind];
}
