import { writeFile } from "node:fs/promises";
import path from "node:path";
import { settled } from "../../src/providers/failures.ts";
import {
  type Failure,
  type Job,
  type Provider,
  ProviderError,
  type SubmitHow,
  type SubmitReply,
} from "../../src/providers/provider.ts";
import type { Usage } from "../../src/task/lifecycle.ts";
import { png } from "../support/images.ts";

type Made = Extract<SubmitReply, { outcome: "made" }>;

/** What becomes of a request: `number` counts all requests, from 1. */
export type Answer = (job: Job, how: SubmitHow, number: number) => Promise<Made>;

export interface ScriptedProvider extends Provider {
  /** The requests that it was sent, in their order. */
  readonly jobs: readonly Job[];
  /** The most requests that were open at once. */
  readonly mostOpen: number;
  recover: NonNullable<Provider["recover"]>;
}

/** A provider of the test's own. Without a script it makes every image at once. */
export function scriptedProvider(answer: Answer = (job) => drawn(job)): ScriptedProvider {
  const jobs: Job[] = [];
  let [open, mostOpen] = [0, 0];
  return {
    version: 1,
    limits: { concurrency: null, submitMs: 60_000 },
    jobs,
    get mostOpen() {
      return mostOpen;
    },
    async submit(job, how) {
      jobs.push(job);
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      return settled(async (onSent) => {
        try {
          return await answer(job, { ...how, onSent }, jobs.length).catch((error: unknown) => {
            if (!(error instanceof ProviderError) || error.failure.kind !== "unsent") onSent();
            throw error;
          });
        } finally {
          open -= 1;
        }
      }, how.onSent);
    },
    recover: async () => null,
    images: async ({ folder }) => [{ kind: "file", file: path.join(folder, "image.png") }],
    close: async () => {},
  };
}

/** Makes a picture of 8 × 6 pixels. */
export async function drawn({ folder, index }: Job, usage: Usage | null = null): Promise<Made> {
  await writeFile(path.join(folder, "image.png"), png(index));
  return { outcome: "made", usage };
}

/** Fails as a provider does. */
export function failing(failure: Failure | Failure["kind"], words = "no"): Promise<never> {
  const known: Record<Failure["kind"], Failure> = {
    unsent: { kind: "unsent" },
    disk: { kind: "disk" },
    account: { kind: "account", key: "login_required" },
    busy: { kind: "busy", retryAfterMs: null },
    invalid: { kind: "invalid" },
    refused: { kind: "refused" },
    lost: { kind: "lost" },
  };
  return Promise.reject(new ProviderError(words, typeof failure === "string" ? known[failure] : failure));
}

/** Runs until it is given up. */
export function endless({ signal, onSent }: SubmitHow): Promise<never> {
  onSent();
  return new Promise((_resolve, reject) => {
    const end = () => reject(new ProviderError("it was given up", { kind: "lost", isStopped: true }));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
