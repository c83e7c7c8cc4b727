import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { ImggenError } from "../../src/lib/error-types.ts";
import type {
  Job,
  Provider,
  SubmitOptions,
  SubmitReply,
  UnknownReply,
} from "../../src/providers/provider.ts";
import { FIELD_NAMES } from "../../src/task/request-fields.ts";
import { counted } from "./counted.ts";
import { png } from "./images.ts";

/** What becomes of a request: `number` counts all requests, from 1. */
export type Answer = (job: Job, how: SubmitOptions, number: number) => Promise<SubmitReply>;

export interface ScriptedProvider extends Provider {
  /** The requests that it was sent, in their order. */
  readonly jobs: readonly Job[];
  /** Resolves once it was sent so many requests. */
  sent(count: number): Promise<void>;
  /** The most requests that were open at once. */
  readonly mostOpen: number;
  recover: NonNullable<Provider["recover"]>;
}

/**
 * A provider of the test's own, which answers with its images. Without a script it makes every image at once.
 * @param sends whether it says itself that a request was sent, and its script does not
 */
export function scriptedProvider(answer: Answer = (job) => drawn(job), sends = true): ScriptedProvider {
  const jobs: Job[] = [];
  const requests = counted();
  let [open, mostOpen] = [0, 0];
  return {
    version: 1,
    supports: FIELD_NAMES,
    limits: { concurrency: 1, submitMs: 600_000 },
    jobs,
    sent: requests.reached,
    get mostOpen() {
      return mostOpen;
    },
    async submit(job, how) {
      jobs.push(job);
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      if (sends) how.onSent();
      return answer(job, how, requests.add()).finally(() => {
        open -= 1;
      });
    },
    recover: async (job) => (existsSync(imageOf(job)) ? { outcome: "made", usage: null } : null),
    images: async ({ folder }) => {
      const names = (await readdir(folder)).filter((name) => name.endsWith(".png")).sort();
      return Promise.all(
        names.map(
          async (name) => ({ kind: "bytes", bytes: await readFile(path.join(folder, name)) }) as const,
        ),
      );
    },
    models: async () => null,
    close: async () => {},
  };
}

const imageOf = ({ folder }: Job) => path.join(folder, "image.png");

/** Makes a picture of 8 × 6 pixels, or what else is to stand for one. */
export async function drawn(job: Job, bytes: Buffer = png(job.index)): Promise<SubmitReply> {
  await writeFile(imageOf(job), bytes);
  return { outcome: "made", usage: { total_tokens: 12 } };
}

/** The reply is lost in flight. */
export function lost(facts: Partial<UnknownReply> = {}): Promise<SubmitReply> {
  return Promise.resolve({ outcome: "unknown", why: "the connection was cut", excerpt: null, ...facts });
}

export function refused(error: ImggenError): Promise<SubmitReply> {
  return Promise.resolve({ outcome: "refused", error });
}

/** Runs until it is given up. */
export function endless(_job: Job, { signal }: SubmitOptions): Promise<SubmitReply> {
  return new Promise((resolve) => {
    const end = () => resolve({ outcome: "unknown", why: "it was given up", excerpt: null, isStopped: true });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
