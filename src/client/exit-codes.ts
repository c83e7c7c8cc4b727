import { type ErrorType, ImggenError } from "../lib/error-types.ts";
import { InterruptedError } from "../lib/interrupted.ts";

/** Exit code of each error type, part of the interface for scripts. */
export const EXIT_CODES = {
  internal: 1,
  usage: 2,
  invalid_request: 2,
  budget_exceeded: 2,
  auth_required: 3,
  insufficient_credits: 4,
  subscription_required: 4,
  generation_failed: 5,
  service_error: 5,
  pending: 6,
  network: 7,
  save_failed: 8,
  outcome_unknown: 9,
  partial: 10,
} as const satisfies Record<Exclude<ErrorType, "interrupted">, number>;

/** 128 plus the signal's number, as in shells. */
export const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export type ExitCodeRow<Type extends ErrorType> = Type extends keyof typeof EXIT_CODES
  ? (typeof EXIT_CODES)[Type]
  : (typeof SIGNAL_CODES)[keyof typeof SIGNAL_CODES];

/** Exit code if a polled task still runs. */
export const STILL_RUNNING = EXIT_CODES.pending;

export function getExitCode(error: unknown): ExitCodeRow<ErrorType> {
  if (error instanceof InterruptedError) return SIGNAL_CODES[error.signal ?? "SIGINT"];
  if (error instanceof ImggenError && error.type !== "interrupted") return EXIT_CODES[error.type];
  return EXIT_CODES.internal;
}

type ExitCode = ExitCodeRow<ErrorType>;

/** Severity of exit codes; 0 is the worst. A command for several tasks exits with the worst code. */
const RANKS: Readonly<Record<ExitCode, number>> = {
  [SIGNAL_CODES.SIGINT]: 0,
  [SIGNAL_CODES.SIGTERM]: 1,
  [SIGNAL_CODES.SIGHUP]: 2,
  [EXIT_CODES.internal]: 3,
  [EXIT_CODES.usage]: 4,
  [EXIT_CODES.auth_required]: 5,
  [EXIT_CODES.insufficient_credits]: 6,
  [EXIT_CODES.network]: 7,
  [EXIT_CODES.save_failed]: 8,
  [EXIT_CODES.generation_failed]: 9,
  [EXIT_CODES.pending]: 10,
  [EXIT_CODES.outcome_unknown]: 11,
  [EXIT_CODES.partial]: 12,
};
const WORST_FIRST = (Object.keys(RANKS).map(Number) as ExitCode[]).sort((a, b) => RANKS[a] - RANKS[b]);

export function worstExitCode(codes: readonly number[]): number {
  return WORST_FIRST.find((code) => codes.includes(code)) ?? 0;
}
