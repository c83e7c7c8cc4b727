import { type TaskReport, taskReport } from "../../core/engine/report.ts";
import { MissingProviderError } from "../../core/errors.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { GeneratorSpec } from "../../providers/kinds.ts";
import { installedPackage } from "../../providers/package/load.ts";
import { parseGeneratorSpec } from "../../providers/spec.ts";
import { GENERATOR_KEY_ID, type ServiceIdentity } from "../../task/intent.ts";
import type { Task } from "../../task/task.ts";
import { type ClientSession, openLedger } from "../client-session.ts";
import { EffectiveSettings, type EffectiveValue } from "../effective-settings.ts";
import {
  defaultOptions,
  type GeneratorSource,
  getEffectiveKey,
  getKeyForOrigin,
  getTaskKey,
  readOptions,
  type UserGenerator,
  withKey,
} from "../generator-settings.ts";

/** Loads a generator with its settings. @throws UsageError */
export function loadGenerator(setting: EffectiveValue, source: GeneratorSource): UserGenerator {
  const spec = resolveSpec(setting.value, setting.label, source);
  const key = getEffectiveKey(spec, source);
  return { spec, options: { ...withKey(spec, readOptions(spec, source), key), keyVariable: KEY_VARIABLE } };
}

/** Key for the generator in effect. A task's generator receives it only if the task was submitted with it. */
const KEY_VARIABLE = "IMGGEN_GENERATOR_KEY";

const TASK_GENERATOR_LABEL = "The task's generator";

/** @throws MissingProviderError if a stored task's generator cannot be used */
export function requireKnownGenerator(
  name: string,
  taskId: string,
  source: Pick<GeneratorSource, "folders">,
): void {
  try {
    resolveSpec(name, TASK_GENERATOR_LABEL, source);
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    // Only the hint about a missing package is used, because other hints are about new requests.
    const hint = name.startsWith("npm:") ? (cause.hint?.replace(/^Nothing was sent\. /, " ") ?? "") : "";
    const message = `Task ${taskId} cannot be continued. ${cause.message}${hint}`;
    throw new MissingProviderError(message, { charged: "unknown", cause });
  }
}

/** Loads a task's generator, with settings only if it is the generator in effect. @throws UsageError */
export function loadTaskGenerator(
  { baseUrl: name, keyId }: ServiceIdentity,
  source: GeneratorSource,
): UserGenerator {
  const setting = nullIfInvalid(() => source.settings.generator()) ?? null;
  const effectiveSpec = setting && nullIfInvalid(() => resolveSpec(setting.value, setting.label, source));
  const isInEffect = effectiveSpec?.name === parseGeneratorSpec(name, TASK_GENERATOR_LABEL).name;
  if (setting && isInEffect) return loadGenerator(setting, source);
  const spec = resolveSpec(name, TASK_GENERATOR_LABEL, source);
  const key = getTaskKey(spec, keyId, source) ?? getKeyForOrigin(spec, source);
  const needsKeyHint = key === null && keyId !== GENERATOR_KEY_ID;
  return {
    spec,
    options: {
      ...withKey(spec, defaultOptions(spec), key),
      ...(needsKeyHint && { keyVariable: KEY_VARIABLE }),
    },
  };
}

/** Returns null for an invalid setting, because an invalid setting must not block a stored task. */
function nullIfInvalid<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** @throws UsageError for invalid flags, even if no task uses the generator */
export function checkFlags(source: GeneratorSource): void {
  const settings = new EffectiveSettings({}, () => ({}), source.settings.flags);
  const setting = settings.flag("generator") ?? source.settings.generator();
  if (setting === undefined) return;
  const parseSpec = () => resolveSpec(setting.value, setting.label, source);
  const spec = setting.source === "flag" ? parseSpec() : nullIfInvalid(parseSpec);
  if (spec !== null) readOptions(spec, { ...source, settings });
}

/** Loads a generator without settings. @throws UsageError */
export function loadUnconfiguredGenerator(name: string, source: GeneratorSource): UserGenerator {
  const spec = resolveSpec(name, TASK_GENERATOR_LABEL, source);
  return { spec, options: withKey(spec, defaultOptions(spec), getKeyForOrigin(spec, source)) };
}

/** Parses a generator, and finds its installed package. @throws UsageError for a missing package */
export function resolveSpec(
  text: string,
  label: string,
  source: Pick<GeneratorSource, "folders">,
): GeneratorSpec {
  const spec = parseGeneratorSpec(text, label);
  return spec.kind === "npm" ? installedPackage(spec, source.folders.config) : spec;
}

/**
 * Returns a report on an unfinished task for the same prompt if the package of its generator is missing,
 * because the error of a new request would hide the task's cost. Otherwise throws `error`.
 */
export async function reportBlockedTask(
  error: unknown,
  prompt: string,
  session: ClientSession,
): Promise<TaskReport> {
  const setting = session.settings.generator();
  if (!(error instanceof UsageError) || setting === undefined) throw error;
  const { name, kind } = parseGeneratorSpec(setting.value, setting.label);
  if (kind !== "npm") throw error;
  const ledger = openLedger(session);
  const isEqualRequest = ({ intent }: Task) =>
    intent.service.baseUrl === name && intent.request.prompt === prompt;
  const entries = (await ledger.unfinished()).reverse();
  const tasks = entries.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  const task = tasks.find((each) => isEqualRequest(each) && !ledger.isClaimed(each));
  if (task === undefined) throw error;
  const report = taskReport(await ledger.withLostReplies(task));
  try {
    requireKnownGenerator(name, report.taskId ?? task.id, session);
  } catch (missingProvider) {
    if (missingProvider instanceof MissingProviderError)
      return { ...report, error: missingProvider, reused: true };
  }
  throw error;
}
