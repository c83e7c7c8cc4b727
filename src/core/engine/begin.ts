import { prepareAddressCheck } from "../../api/address.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { BeginOptions, OwnedTask } from "../../store/ledger.ts";
import type { Destination, Intent } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import { begunTask } from "../../task/task.ts";
import { NotLoadedError } from "../errors.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { giveBackTo, takeFrom } from "../limits/caps.ts";
import type { Pass } from "../limits/gate.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { answersWithId, type TaskDeps } from "./deps.ts";
import { drive } from "./drive.ts";
import { HeldTask } from "./held.ts";
import { type TaskReport, taskFacts } from "./report.ts";
import { notTried } from "./send.ts";

/** Use of the result of a request. */
export interface ResultSpec {
  destination: Destination;
  /** null: return once the provider has accepted the task. */
  wait: WaitSettings | null;
}

export interface TaskSpec extends ResultSpec {
  checked: CheckedRequest;
}

/**
 * Submits one request and saves its images. The order of writes keeps money and files safe: intent on disk, submit, answer on
 * disk, and only then anything else.
 * @throws SaveFailedError if the output or state folder is unusable; then nothing was sent. Errors from the submit on are in
 *   the report.
 */
export async function submitNew(spec: TaskSpec, deps: TaskDeps): Promise<TaskReport> {
  // Beside the writes to the disk, so that it takes no time of its own.
  if (spec.wait !== null) void loadEnd();
  await prepareDestination(spec.destination);
  deps.signal.throwIfAborted();
  const report = await beginAndDrive(createIntent(spec, deps), spec, {}, deps);
  if (report === "taken") throw new TypeError("an id that no other process has");
  return report;
}

/** The intent that is recorded before a request is submitted. */
export function createIntent({ checked, destination }: TaskSpec, { connection }: TaskDeps): Intent {
  const { request, credits, repeatedSeed } = checked;
  const terms = connection.termsFor(request);
  const isPaid = checked.isPaid ?? terms.isPaid;
  const seed = repeatedSeed && { repeatedSeed };
  return { request, service: connection.identity, credits, destination, ...terms, isPaid, ...seed };
}

/**
 * Records the intent of a request, submits it, and saves its result. Where the reply is an id at once it passes gate and caps
 * first, and its intent counts as sent: one sync before the wire.
 * @returns "taken" if another process has begun the task
 */
export async function beginAndDrive(
  intent: Intent,
  spec: TaskSpec,
  begin: Omit<BeginOptions, "isSent">,
  deps: TaskDeps,
): Promise<TaskReport | "taken"> {
  const warnings = [...spec.checked.warnings];
  const { wait, destination } = spec;
  const { downloads, provider } = deps.connection;
  // Before it is sent, that would delay the submit, and polls can do without.
  const onSent = () => void (wait !== null && setImmediate(() => void downloads.prepareShared()));
  const goal = { sends: true, wait, destination, isContinued: false, onSent };
  const hold = (owned: OwnedTask) =>
    new HeldTask(deps.ledger, owned, (message) => {
      warnings.push(message);
      deps.onProgress({ type: "ledger_warning", message });
    });
  const missing = wait === null ? null : await loadEnd();
  const isAtOnce = answersWithId(provider) && begin.claim === undefined && !begin.once;
  const id = begin.id ?? deps.ledger.newId();
  if (missing !== null) return unsent(id, intent, warnings, missing, deps);
  if (!isAtOnce) {
    const owned = await deps.ledger.begin(intent, begin);
    return owned === "taken" ? owned : drive(hold(owned), goal, warnings, deps);
  }
  const pass = await deps.gate.enter(deps.signal).catch(() => null);
  if (pass === null) {
    const why = deps.signal.aborted ? interruptedError(deps.signal, "no") : notTried(deps.gate);
    return unsent(id, intent, warnings, why, deps);
  }
  return submitAtOnce(pass, id);

  async function submitAtOnce(pass: Pass, id: string): Promise<TaskReport | "taken"> {
    const task = { id, intent, parts: 1 };
    try {
      const overCap = await takeFrom(deps.caps, task, 0);
      if (overCap !== null) return unsent(id, intent, warnings, overCap, deps);
      let owned: OwnedTask | "taken";
      try {
        owned = await deps.ledger.begin(intent, { ...begin, id, isSent: true });
      } catch (error) {
        await giveBackTo(deps.caps, task, 0);
        throw error;
      }
      if (owned === "taken") return owned;
      return await drive(hold(owned), { ...goal, first: { attempt: "1.0", pass } }, warnings, deps);
    } finally {
      deps.gate.leave(pass);
    }
  }
}

/** The report on a request of which not even the intent was recorded. */
function unsent(
  id: string,
  intent: Intent,
  warnings: readonly string[],
  error: ImggenError,
  { ledger }: TaskDeps,
): TaskReport {
  const line = { type: "intent", v: 0, at: new Date(ledger.clock.now()).toISOString(), holder: "" } as const;
  const facts = taskFacts(begunTask(id, { ...line, ...intent }));
  return { ...facts, ledgerId: null, state: "not_sent", warnings: [...warnings], error };
}

/**
 * Loads what takes a task from its submit to its images. It must be there before anything can be charged: files of the
 * program may be missing, as in an upgrade. Never throws. @returns why it cannot be loaded
 */
async function loadEnd(): Promise<ImggenError | null> {
  try {
    await Promise.all([import("./save.ts"), prepareAddressCheck()]);
    return null;
  } catch (cause) {
    return new NotLoadedError("A part of imggen could not be loaded: was it updated meanwhile?", {
      hint: ["Nothing was sent.", phrase`${action("repeat")}; if that does not help, install imggen again.`],
      cause,
    });
  }
}
