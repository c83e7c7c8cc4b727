import { runRequest } from "../../src/providers/failures.ts";
import {
  type Failure,
  type Job,
  ProviderError,
  type SubmitOptions,
  type SubmitReply,
} from "../../src/providers/provider.ts";
import type { Usage } from "../../src/task/line.ts";
import {
  drawn as draw,
  type ScriptedProvider,
  type Answer as SupportedAnswer,
  scriptedProvider as scripted,
} from "../support/scripted-provider.ts";

type Made = Extract<SubmitReply, { outcome: "made" }>;

/** What becomes of a request: `number` counts all requests, from 1. */
export type Answer = (job: Job, how: SubmitOptions, number: number) => Promise<Made>;

export type { ScriptedProvider };

/** A provider of the test's own. Without a script it makes every image at once. */
export function scriptedProvider(answer: Answer = (job) => drawn(job)): ScriptedProvider {
  const submit: SupportedAnswer = (job, how, number) =>
    runRequest(
      (onSent) =>
        answer(job, { ...how, onSent }, number).catch((error: unknown) => {
          if (!(error instanceof ProviderError) || error.failure.kind !== "unsent") onSent();
          throw error;
        }),
      how.onSent,
    );
  return scripted(submit, false);
}

/** Makes a picture of 8 × 6 pixels. */
export async function drawn(job: Job, usage: Usage | null = null): Promise<Made> {
  await draw(job);
  return { outcome: "made", usage };
}

/** Fails as a provider does. */
export function failing(failure: Failure | Failure["kind"], words = "no"): Promise<never> {
  const byKind: Record<Failure["kind"], Failure> = {
    unsent: { kind: "unsent" },
    disk: { kind: "disk" },
    account: { kind: "account", key: "login_required" },
    busy: { kind: "busy", retryAfterMs: null },
    invalid: { kind: "invalid" },
    refused: { kind: "refused" },
    lost: { kind: "lost" },
  };
  return Promise.reject(new ProviderError(words, typeof failure === "string" ? byKind[failure] : failure));
}

/** Runs until it is given up. */
export function endless({ signal, onSent }: SubmitOptions): Promise<never> {
  onSent();
  return new Promise((_resolve, reject) => {
    const end = () => reject(new ProviderError("it was given up", { kind: "lost", isStopped: true }));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
