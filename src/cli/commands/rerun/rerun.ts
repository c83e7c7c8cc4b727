import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { openLedger } from "../../../client/client-session.ts";
import { workflowCopy } from "../../../client/user-folders.ts";
import type { ImageOrigin } from "../../../core/engine/origin.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { checkRequest } from "../../../models/check-request.ts";
import { jsonFields, providerFields } from "../../../models/provider-fields.ts";
import { FLAG_LABELS } from "../../../models/rules/rule.ts";
import { inputOf } from "../../../models/wire.ts";
import { isAtGenerator, SANDBOX_SERVICE } from "../../../task/intent.ts";
import type { RequestInput } from "../../../task/request.ts";
import { FIELD_NAMES, type FieldNames } from "../../../task/request-fields.ts";
import { addGenerateOptions, type GenerateFlags } from "../../flags/generate-flags.ts";
import {
  addRequestOptions,
  canUpload,
  IMAGE_OR_FILE,
  type RequestFlags,
  valuesOf,
} from "../../flags/request-flags.ts";
import { OPTION_GROUPS, type RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { runRequest } from "../generate/run-request.ts";
import { findEarlierRequest } from "./earlier-request.ts";

const EXAMPLES = `
Examples:
  $ imggen rerun a-fox-3f9c.png
  $ imggen rerun a-fox-3f9c.png --quality 4K
  $ imggen rerun task_3f9c --output another-fox.png
  $ imggen rerun a-fox-3f9c.png --dry-run

With your own generator, --field steps=30 changes one field and keeps the others.`;

const OTHER_MODEL = "model, see imggen models (default: the same)";

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId>", "an image that imggen saved here or with a sidecar, or a task's id");
  addRequestOptions(command, { model: OTHER_MODEL, image: IMAGE_OR_FILE });
  addGenerateOptions(command)
    .optionsGroup(OPTION_GROUPS.cost)
    .option("--yes", "submit to the configured service what was charged at another")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runRerun));
}

interface RerunFlags extends RequestFlags, GenerateFlags {
  yes?: boolean;
}

async function runRerun(session: Session, what: string, flags: RerunFlags): Promise<number> {
  const ledger = openLedger(session);
  const values = valuesOf(flags);
  const replacesImages = values.image !== undefined;
  const earlier = await findEarlierRequest(what, session.context.resolvePath(what), ledger, replacesImages);
  if (!flags.yes && !session.options.sandbox) await requireSameService(earlier, session);
  await preferEarlier(earlier, session);
  const merged = { ...earlierInput(earlier), ...values };
  const terms = await session.generatorTerms({ ...flags, model: merged.model });
  const input = withFieldFlags(merged, values, terms?.fieldNames ?? {}, session);
  // Settings are for new requests, not for an earlier one.
  const generator = terms && { ...terms, defaults: {} };
  const uploads = canUpload(generator ? input.image : values.image, session);
  const inherited = FIELD_NAMES.filter((name) => earlier.request[name] !== undefined);
  const kept = inherited.filter((name) => name !== "prompt" && values[name] === undefined);
  const labels = Object.fromEntries(
    kept.map((name) => [name, `the request's ${FLAG_LABELS[name].slice(2)}`]),
  );
  const options = { validate: flags.validate, labels, inherited, uploads, generator };
  const checked = checkRequest(input, await session.matrix(), options);
  // A request that was changed does not stand for the earlier one.
  const repeated = isDeepStrictEqual(checked.request, earlier.request) ? earlier.record : null;
  return runRequest(checked, { ...flags, again: true }, session, repeated);
}

/** Earlier releases wrote fields with the task alone. */
function earlierInput({ request, record }: ImageOrigin): RequestInput {
  const { seed, negative, fields } = request;
  const input = inputOf(request);
  if ([seed, negative, fields].some((each) => each !== undefined)) return input;
  return isOfGenerator(record) ? { ...input, fields: record.intent.options.fields } : input;
}

function isOfGenerator(record: ImageOrigin["record"]): record is NonNullable<ImageOrigin["record"]> {
  return record !== null && isAtGenerator(record.intent);
}

/** The earlier request's seed, negative prompt and fields, but for those that a flag gives under either name. */
function withFieldFlags(
  merged: RequestInput,
  flags: Pick<RequestInput, "seed" | "negative">,
  names: FieldNames,
  { settings }: Session,
): RequestInput {
  const [plain, json] = [settings.flag("field"), settings.flag("fieldJson")];
  const changed = {
    ...(plain && providerFields(plain.label, plain.value)),
    ...(json && jsonFields(json.label, json.value)),
  };
  const fields = { ...merged.fields };
  const input: RequestInput = { ...merged };
  for (const name of ["seed", "negative"] as const) {
    const field = names[name];
    if (field === undefined) continue;
    if (flags[name] !== undefined) delete fields[field];
    else if (Object.hasOwn(changed, field)) delete input[name];
  }
  return { ...input, fields: { ...fields, ...changed } };
}

/**
 * Takes what the earlier task was made with at this generator, unless a flag says otherwise: its workflow, as a copy,
 * whatever became of the file; and that it was paid, because a free request is sent again after a loss.
 */
async function preferEarlier({ record }: ImageOrigin, session: Session): Promise<void> {
  const { settings, folders } = session;
  if (!isOfGenerator(record) || record.intent.service.baseUrl !== (await session.serviceName())) return;
  const { isPaid, options } = record.intent;
  const { workflow } = options;
  if (workflow !== undefined)
    settings.prefer("workflow", workflowCopy(folders, workflow), "The task's workflow");
  if (isPaid && settings.flag("generatorFree") === undefined)
    settings.prefer("generatorPaid", "true", "The task's generatorPaid");
}

/**
 * A request belongs to the service that it was charged at: one that was free at the sandbox must not be charged at
 * another service without a warning. @throws UsageError if another is configured
 */
async function requireSameService(
  { service: chargedAt, record }: ImageOrigin,
  session: Session,
): Promise<void> {
  const configured = await session.serviceName();
  const isGenerator = isOfGenerator(record);
  const isSandbox = chargedAt === SANDBOX_SERVICE;
  if (configured === chargedAt || (configured === undefined && !isGenerator && !isSandbox)) return;
  const other =
    configured === undefined
      ? ""
      : `To submit it to ${configured}, which may charge for it: ${session.commandLine("--yes")}`;
  const instead = `${configured ?? "no service"} is configured`;
  if (isSandbox) {
    throw new UsageError(`This was made by the sandbox, and ${instead}.`, {
      hint: `To submit it to the sandbox: ${session.commandLine("--sandbox")}\n${other}`.trimEnd(),
    });
  }
  // A sidecar may have been written by anyone, so the key is never sent to the address in it.
  const there = isGenerator
    ? `To submit it there again, add --generator ${shellWord(chargedAt)}\n`
    : `To submit it there again, set IMGGEN_BASE_URL=${chargedAt} and its key.\n`;
  throw new UsageError(`This was submitted to ${chargedAt}, and ${instead}.`, {
    hint: record ? (there + other).trimEnd() : other,
  });
}
