import type { Connection } from "../../core/engine/deps.ts";
import type { GeneratorTerms } from "../../models/check-request.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { SentRequest } from "../../providers/provider.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { ClientSession } from "../client-session.ts";
import type { Finding } from "../finding.ts";

/** Destination of requests: the embedded sandbox, the hosted service, an `imggen serve`, or the user's generator. */
export interface Target {
  readonly kind: "sandbox" | "service" | "serve" | "generator";
  /** Name in the ledger, or undefined if no service is configured. @throws UsageError */
  name(): Promise<string | undefined>;
  /** Address, or null for a command or the sandbox, or if no address is configured. @throws UsageError */
  url(): URL | null;
  /** Known models. @throws UsageError, SettingsError */
  matrix(): Promise<Matrix>;
  /** Terms in addition to the matrix, or null. A dry run does not connect. @throws ImggenError */
  terms(request: TermsRequest): Promise<GeneratorTerms | null>;
  /** Models that the target lists, or null if it has no list. @throws ImggenError */
  models(timeoutMs?: number): Promise<OfferedModels | null>;
  /** Targets with equal keys share a connection. @throws UsageError, AuthRequiredError */
  key(): Promise<string>;
  /** Opens a connection without sending anything. @throws UsageError, AuthRequiredError */
  open(options: OpenOptions): Promise<OpenTarget>;
  /** Checks requests, and describes the first (null: unchanged). Does not connect. @throws InvalidRequestError */
  describe(
    requests: readonly (readonly [name: string, GenerationRequest])[],
  ): Promise<DescribedRequest | null>;
  /** Checks at no cost whether the target can be used. */
  check(options: TargetCheckOptions): Promise<TargetCheck>;
}

export interface TermsRequest {
  model?: string | undefined;
  validate?: boolean | undefined;
  dryRun?: boolean | undefined;
  /**
   * Whether later requests use the terms too. If so, the loaded model is not their default, because the server might
   * load another model.
   */
  lasts?: boolean | undefined;
}

export interface OfferedModels {
  names: string[] | null;
  /** Name of the loaded model, written as in `names`, or null if unknown. */
  loaded: string | null;
  needsName: boolean;
}

export interface OpenOptions {
  requestTimeoutMs?: number | undefined;
}

export interface OpenTarget {
  connection: Connection;
  close: () => Promise<void>;
}

export interface DescribedRequest {
  /** First request as the provider would send it, or null if it cannot describe it. */
  sent: SentRequest | null;
  requests: number;
  /** Whether the image's size is unknown before the submit, because the size depends on a reference image. */
  isSizedByReference: boolean;
  isModelOpen?: boolean;
  /** Side that chooses the seed, or null if the seed is given or unsupported. */
  seedBy: "imggen" | "the server" | null;
}

export interface TargetCheckOptions {
  signal: AbortSignal;
  timeoutMs?: number | undefined;
}

/** Findings of a check. A function can throw an ImggenError, which `doctor` reports. */
export interface TargetCheck {
  service(): Finding | Promise<Finding>;
  key(): Finding | Promise<Finding>;
  clock(): Finding | null;
  isVerified: boolean;
  /** @param hintStart beginning of a hint @param hintEnd last line of a hint @returns the login's error, or null */
  failure(hintStart: string, hintEnd: string): Error | null;
}

export type TargetSession = Omit<ClientSession, "words" | "caps" | "savedFields">;
