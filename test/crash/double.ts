import type { StageWatch } from "./stages.ts";

/** One request that was taken on: what its account is charged for. */
export interface Charge {
  /** The provider's name for the job; where it gives none, the double's own. */
  taskId: string;
  prompt: string;
  /** Each unlike any other. */
  images: readonly Buffer[];
  /** The body of its reply. */
  reply: Buffer;
}

/** Plays a provider for one world. What it has noted down is the truth. */
export interface Double {
  readonly origin: string;
  readonly charges: readonly Charge[];
  /** How many requests for images came, whole or not, those that were turned away included. */
  readonly posts: number;
  /** The prompt of every one that came whole and was not turned away with 429, accepted or not. */
  readonly posted: readonly string[];
  /** The names of jobs that only the provider can have told, and that were asked for. */
  readonly polled: ReadonlySet<string>;
  /** Sees the stages of the run. */
  watch: StageWatch;
  listen(): Promise<void>;
  close(): Promise<void>;
  /** Loses all jobs, where it is a server that may. */
  forget(): void;
}
