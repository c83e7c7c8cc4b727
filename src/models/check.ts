import type { CheckedRequest, RequestInput } from "../task/request.ts";
import { estimateCost } from "./cost.ts";
import { InvalidRequestError } from "./errors.ts";
import { resolveModel } from "./find.ts";
import { FLAG_LABELS, type Labels } from "./labels.ts";
import { DEFAULT_MODEL, type Matrix } from "./matrix.ts";
import { imageCount, imagesOverHttps, imageUrls, maxImages } from "./rules/images.ts";
import { modelListed, price, unknownModelRefusal } from "./rules/model.ts";
import { emptyPromptRefusal, promptLength, promptText } from "./rules/prompt.ts";
import { quality } from "./rules/quality.ts";
import { ratio } from "./rules/ratio.ts";
import type { Finding, Refusal, Rule, RuleInput } from "./rules/rule.ts";
import { normalizeInput, toRequest } from "./wire.ts";

export interface CheckOptions {
  /** Default true. If false, only a blank prompt is refused, and all values are sent as given. */
  validate?: boolean;
  /** How messages name the values; by default as the flags of `imggen generate`. */
  labels?: Partial<Labels>;
  /**
   * Where reference images may be files: whether they can be uploaded. They stay in the request as they were given, until
   * they are uploaded. Absent: only URLs are taken.
   */
  uploads?: boolean | undefined;
}

/** In the order in which problems are most useful to the user. */
const RULES: readonly Rule[] = [
  promptText,
  modelListed,
  promptLength,
  ratio,
  quality,
  maxImages,
  imageCount,
  imageUrls,
  imagesOverHttps,
  price,
];

/**
 * Turns what the user asked for into the request to send, with its cost. Refuses what the service's document rules out;
 * what the document leaves open passes, with a warning if the result may surprise.
 *
 * @throws InvalidRequestError for the first broken rule
 */
export function checkRequest(
  input: RequestInput,
  matrix: Matrix,
  options: CheckOptions = {},
): CheckedRequest {
  const labels = { ...FLAG_LABELS, ...options.labels };
  const empty = emptyPromptRefusal(input.prompt, labels.prompt);
  if (empty !== undefined) throw refused(empty);

  const name = input.model ?? DEFAULT_MODEL;
  const model = resolveModel(name, matrix);
  if (model !== undefined) {
    const subject = { input, model, matrix, labels, uploads: options.uploads };
    return options.validate === false ? sentAsGiven(subject) : validated(subject);
  }
  const unknown = unknownModelRefusal(name, labels.model, matrix);
  if (options.validate !== false) throw refused(unknown);
  return { request: toRequest(input, name), credits: null, warnings: unchecked([unknown]) };
}

/** The request, checked against every rule. */
function validated(subject: RuleInput): CheckedRequest {
  const { input, model } = subject;
  const findings = judge(subject);
  const broken = findings.find(isRefusal);
  if (broken !== undefined) throw refused(broken);
  return {
    request: toRequest(normalizeInput(input, model), model.id),
    credits: estimateCost(model, input.quality).credits,
    warnings: findings.map(({ message }) => `${message}.`),
  };
}

/** The request without checks. An estimated price is still a warning. */
function sentAsGiven(subject: RuleInput): CheckedRequest {
  const { input, model } = subject;
  const guess = price(subject);
  return {
    request: toRequest(input, model.id),
    credits: estimateCost(model, input.quality).credits,
    warnings: [...unchecked(judge(subject)), ...(guess === undefined ? [] : [`${guess.message}.`])],
  };
}

function judge(subject: RuleInput): Finding[] {
  return RULES.map((rule) => rule(subject)).filter((finding) => finding !== undefined);
}

/** One warning with everything that would have been refused; none if nothing would. */
function unchecked(findings: readonly Finding[]): string[] {
  const reasons = findings.filter(isRefusal).map(({ message }) => message);
  return reasons.length === 0 ? [] : [`Validation is off, so this is sent anyway: ${reasons.join("; ")}.`];
}

function isRefusal(finding: Finding): finding is Refusal {
  return finding.kind === "refusal";
}

function refused({ message, hint, limit }: Refusal): InvalidRequestError {
  return new InvalidRequestError(`${message}.`, { hint, limit });
}
