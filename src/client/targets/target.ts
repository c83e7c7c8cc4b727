import type { Connection } from "../../core/engine/deps.ts";
import type { GeneratorTerms } from "../../models/check-request.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { SentRequest } from "../../providers/provider.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { ClientSession } from "../client-session.ts";
import type { Finding } from "../finding.ts";

/** The maker of a request's images: the embedded sandbox, the hosted service, an `imggen serve`, or the user's generator. */
export interface Target {
  readonly kind: "sandbox" | "service" | "serve" | "generator";
  /** Its name in the ledger; undefined: no service is configured. @throws UsageError */
  name(): Promise<string | undefined>;
  /** Its address; null: it has none, or none is configured. @throws UsageError */
  url(): URL | null;
  /** The models that it is known to have. @throws UsageError, SettingsError */
  matrix(): Promise<Matrix>;
  /** Terms that a request is checked against, beside the matrix; null: none. A dry run connects nowhere. @throws ImggenError */
  terms(request: TermsRequest): Promise<GeneratorTerms | null>;
  /** Its own list of models; null: it has none beside the matrix. @throws ImggenError */
  models(timeoutMs?: number): Promise<OfferedModels | null>;
  /** Identifies it with all its settings: equal keys share a connection. @throws UsageError, AuthRequiredError */
  key(): Promise<string>;
  /** Connects to it. Nothing is sent. @throws UsageError, AuthRequiredError */
  open(options: OpenOptions): Promise<OpenTarget>;
  /**
   * Checks requests as each is before it is sent, and describes the first. Connects nowhere.
   * @param requests by their names in messages @returns null: requests are sent as they are @throws InvalidRequestError
   */
  describe(
    requests: readonly (readonly [name: string, GenerationRequest])[],
  ): Promise<DescribedRequest | null>;
  /** Asks whether it can be used. It costs nothing. */
  check(how: TargetCheckOptions): Promise<TargetCheck>;
}

export interface TermsRequest {
  model?: string | undefined;
  validate?: boolean | undefined;
  dryRun?: boolean | undefined;
  /** Whether the terms are for later requests too: another model may be loaded then, so none is the default. */
  lasts?: boolean | undefined;
}

/** A generator's list of models. */
export interface OfferedModels {
  /** Null if the generator has no list. */
  names: string[] | null;
  /** The model that it has loaded, as its list names it; null if none is, or its API does not show it. */
  loaded: string | null;
  /** Whether every request must name a model. */
  needsName: boolean;
}

export interface OpenOptions {
  /** Ends a submit, a poll or an idle download; undefined: the default of each. */
  requestTimeoutMs?: number | undefined;
}

export interface OpenTarget {
  connection: Connection;
  close: () => Promise<void>;
}

/** A request as it would be sent. */
export interface DescribedRequest {
  /** The first request; null if its provider does not show it. */
  sent: SentRequest | null;
  requests: number;
  /** Whether its size is that of a reference image, which is not on this machine. */
  isSizedByReference: boolean;
  /** Whether it names no model: the other side has a default. */
  isModelOpen?: boolean;
  /** The side that chooses its seed; null if it is given, or there is none. */
  seedBy: "imggen" | "the server" | null;
}

export interface TargetCheckOptions {
  signal: AbortSignal;
  /** Timeout of the answer; absent: the default. */
  timeoutMs?: number | undefined;
}

/** Findings of a check. A function may throw an ImggenError, which doctor shows as a finding. */
export interface TargetCheck {
  service(): Finding | Promise<Finding>;
  key(): Finding | Promise<Finding>;
  clock(): Finding | null;
  /** Whether it has answered, and accepted the key. */
  isVerified: boolean;
  /** @param hintStart beginning of a hint @param hintEnd its last line @returns the error of a login; null if nothing is wrong */
  failure(hintStart: string, hintEnd: string): Error | null;
}

export type TargetSession = Omit<ClientSession, "words" | "caps" | "savedFields">;
