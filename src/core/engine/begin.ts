import { prepareAddressCheck } from "../../api/address.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { BeginOptions, OwnedTask } from "../../store/ledger.ts";
import type { Destination, Intent } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import { taskFromIntent } from "../../task/task.ts";
import { NotLoadedError } from "../errors.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { giveBackToCaps, takeFromCaps } from "../limits/caps.ts";
import type { Pass } from "../limits/gate.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { ClaimedTask } from "./claimed-task.ts";
import { answersWithId, type TaskDeps } from "./deps.ts";
import { driveTask } from "./drive.ts";
import { type TaskReport, taskFacts } from "./report.ts";
import { gateError } from "./send.ts";

export interface ResultSpec {
  destination: Destination;
  /** null to return as soon as the provider has accepted the task. */
  wait: WaitSettings | null;
}

export interface TaskSpec extends ResultSpec {
  checked: CheckedRequest;
}

/**
 * Submits one request and saves its images. The intent is written to disk before the submit, and the reply before any
 * other step, so that a crash loses neither money nor images.
 * @throws SaveFailedError if a folder is unusable, before anything is sent. Later errors are in the report.
 */
export async function submitNew(spec: TaskSpec, deps: TaskDeps): Promise<TaskReport> {
  // Loads the modules in parallel with the disk writes, so that loading takes no extra time.
  if (spec.wait !== null) void loadSaving();
  await prepareDestination(spec.destination);
  deps.signal.throwIfAborted();
  const report = await beginAndDrive(createIntent(spec, deps), spec, {}, deps);
  if (report === "taken") throw new TypeError("an id that no other process has");
  return report;
}

export function createIntent({ checked, destination }: TaskSpec, { connection }: TaskDeps): Intent {
  const { request, credits, repeatedSeed } = checked;
  const terms = connection.termsFor(request);
  const isPaid = checked.isPaid ?? terms.isPaid;
  const seed = repeatedSeed && { repeatedSeed };
  return { request, service: connection.identity, credits, destination, ...terms, isPaid, ...seed };
}

/**
 * Records the intent of a request, submits the request, and saves the result. If the provider replies with an id at
 * once, the gate and the caps are checked before the intent is written. The intent then also records the request as
 * sent, which saves a sync before the submit.
 * @returns "taken" if another process has begun the task
 */
export async function beginAndDrive(
  intent: Intent,
  spec: TaskSpec,
  beginOptions: Omit<BeginOptions, "isSent">,
  deps: TaskDeps,
): Promise<TaskReport | "taken"> {
  const warnings = [...spec.checked.warnings];
  const { wait, destination } = spec;
  const { downloads, provider } = deps.connection;
  // Prepares downloads after the submit, because the preparation would delay the submit.
  const onSent = () => void (wait !== null && setImmediate(() => void downloads.prepareShared()));
  const goal = { sends: true, wait, destination, isContinued: false, onSent };
  const claim = (owned: OwnedTask) =>
    new ClaimedTask(deps.ledger, owned, (message) => {
      warnings.push(message);
      deps.onProgress({ type: "ledger_warning", message });
    });
  const loadError = wait === null ? null : await loadSaving();
  const answersAtOnce = answersWithId(provider) && beginOptions.claim === undefined && !beginOptions.once;
  const id = beginOptions.id ?? deps.ledger.newId();
  if (loadError !== null) return unsentReport(id, intent, warnings, loadError, deps);
  if (!answersAtOnce) {
    const owned = await deps.ledger.begin(intent, beginOptions);
    return owned === "taken" ? owned : driveTask(claim(owned), goal, warnings, deps);
  }
  const pass = await deps.gate.enter(deps.signal).catch(() => null);
  if (pass === null) {
    const why = deps.signal.aborted ? interruptedError(deps.signal, "no") : gateError(deps.gate);
    return unsentReport(id, intent, warnings, why, deps);
  }
  return submitAtOnce(pass, id);

  async function submitAtOnce(pass: Pass, id: string): Promise<TaskReport | "taken"> {
    const task = { id, intent, parts: 1 };
    try {
      const overCap = await takeFromCaps(deps.caps, task, 0);
      if (overCap !== null) return unsentReport(id, intent, warnings, overCap, deps);
      let owned: OwnedTask | "taken";
      try {
        owned = await deps.ledger.begin(intent, { ...beginOptions, id, isSent: true });
      } catch (error) {
        await giveBackToCaps(deps.caps, task, 0);
        throw error;
      }
      if (owned === "taken") return owned;
      return await driveTask(claim(owned), { ...goal, first: { attempt: "1.0", pass } }, warnings, deps);
    } finally {
      deps.gate.leave(pass);
    }
  }
}

function unsentReport(
  id: string,
  intent: Intent,
  warnings: readonly string[],
  error: ImggenError,
  { ledger }: TaskDeps,
): TaskReport {
  const line = { type: "intent", v: 0, at: new Date(ledger.clock.now()).toISOString(), holder: "" } as const;
  const facts = taskFacts(taskFromIntent(id, { ...line, ...intent }));
  return { ...facts, ledgerId: null, state: "not_sent", warnings: [...warnings], error };
}

/** Loads the modules for saving before a charge is possible, because program files can be missing during an upgrade. */
async function loadSaving(): Promise<ImggenError | null> {
  try {
    await Promise.all([import("./save.ts"), prepareAddressCheck()]);
    return null;
  } catch (cause) {
    return new NotLoadedError("A part of imggen could not be loaded: was imggen updated meanwhile?", {
      hint: ["Nothing was sent.", phrase`${action("repeat")}; if that does not help, install imggen again.`],
      cause,
    });
  }
}
