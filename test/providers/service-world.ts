import { onTestFinished } from "vitest";
import type { GeneratorOptions, ProviderDeps } from "../../src/providers/kind.ts";
import type { Job, PolledState } from "../../src/providers/provider.ts";
import { parseGeneratorSpec } from "../../src/providers/spec.ts";
import { type Part, type ServiceForm, serviceDouble } from "../support/doubles/double.ts";
import type { Answer } from "../support/scripted-server.ts";
import { ALONE, type JobParts, jobFor, opened, polling, told } from "./job.ts";

export const KEY = "secret-key-1";

/** A service's double, and the provider that uses it. */
export async function serviceWorld(
  form: ServiceForm,
  script: Partial<Record<Part, Answer>> = {},
  options: Partial<GeneratorOptions> = {},
  deps: Partial<ProviderDeps> = {},
) {
  const double = await serviceDouble(form, script);
  const spec = parseGeneratorSpec(double.spec, "--generator");
  const provider = await opened(spec, { key: KEY, isPaid: true, ...options }, {}, deps);
  onTestFinished(() => provider.close());
  const { signal } = ALONE;
  /** The jobs that were submitted, by their ids. */
  const jobs = new Map<string, Job>();
  const poll = async (id: string) => {
    const job = jobs.get(id);
    return provider.poll?.(id, await polling({ keepsReply: true, ...(job && { job }) }));
  };
  const submit = async (overrides: JobParts = {}) => {
    const job = await jobFor({ model: form.model, isPaid: true, ...overrides });
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const reply = await provider.submit(job, { ...ALONE, onWarning });
    if (reply.outcome === "accepted") jobs.set(reply.taskId, job);
    return { job, reply, warnings, ...told(reply) };
  };
  return {
    double,
    provider,
    /** Submits a job. @returns what came of it, and what was left out */
    submit,
    /** The id of a job that is accepted. */
    async accepted(overrides: JobParts = {}): Promise<string> {
      const { reply } = await submit(overrides);
      if (reply.outcome !== "accepted") throw new Error(`it is ${reply.outcome}`);
      return reply.taskId;
    },
    poll,
    /** A job as a poll shows it. */
    async state(id: string): Promise<PolledState | null> {
      const reply = await poll(id);
      return reply?.outcome === "state" ? reply.task : null;
    },
    cancel: async (id: string) => provider.cancel?.(id, signal),
    bodies: () => double.submits().map(({ body }) => JSON.parse(body)),
  };
}
