import type { BatchEvents, BatchResult, BatchSpec } from "../core/batch/batch-spec.ts";
import type { CancelReport } from "../core/engine/cancel-task.ts";
import { dismissTask } from "../core/engine/dismiss.ts";
import { findNamed } from "../core/engine/named-tasks.ts";
import type { TaskReport } from "../core/engine/report.ts";
import { MissingProviderError } from "../core/errors.ts";
import { resolveFileDestination } from "../core/images/destination.ts";
import { DEFAULT_TEMPLATE } from "../core/images/file-name.ts";
import type { WaitSettings } from "../core/polling/wait.ts";
import type { ForgetResult, Forgettable } from "../core/use-cases/forget.ts";
import { type GenerateEvents, type GenerateSpec, generate } from "../core/use-cases/generate.ts";
import type { ResumeEvents, ResumeReports } from "../core/use-cases/resume.ts";
import type { StatusEvents } from "../core/use-cases/status.ts";
import { UsageError } from "../lib/error-types.ts";
import { type Destination, isAtGenerator } from "../task/intent.ts";
import type { Task } from "../task/task.ts";
import type { ClientSession } from "./client-session.ts";
import { referencesFolder, workflowsFolder } from "./user-folders.ts";
import { type Caller, Workspace } from "./workspace.ts";

export interface DestinationOptions {
  output?: string | undefined;
  name?: string | undefined;
  overwrite?: boolean | undefined;
  sidecar?: boolean | undefined;
}

interface PollOptions extends DestinationOptions {
  /** null to poll each task once. */
  wait: WaitSettings | null;
}

interface PriceConfirmation {
  /** Asks the user to confirm an undocumented price. Absent if there is no user to ask. */
  confirmPrice?: ((name: string) => Promise<boolean>) | undefined;
}

/** Use cases for tasks, shared by the command line, the package and agent tools. Connections are opened on demand. */
export class Operations {
  readonly #session: ClientSession;
  readonly #workspace: Workspace;

  /** @param requestTimeoutMs replaces the default timeouts of submits, polls and idle downloads */
  constructor(session: ClientSession, requestTimeoutMs: number | undefined) {
    this.#session = session;
    this.#workspace = new Workspace(session, requestTimeoutMs);
  }

  depsFor(caller: Caller) {
    return this.#workspace.depsFor(caller);
  }

  async generate(
    spec: GenerateSpec,
    caller: Caller,
    { confirmPrice, ...events }: Omit<GenerateEvents, "agreeOnPrice"> & PriceConfirmation = {},
  ): Promise<TaskReport> {
    const { folders } = this.#session;
    const agreeOnPrice: GenerateEvents["agreeOnPrice"] =
      confirmPrice &&
      (async (unpriced, name) => {
        const { AgreedPrices } = await import("../store/agreed-prices.ts");
        return new AgreedPrices(folders.state).agree(unpriced, () => confirmPrice(name));
      });
    return generate(spec, await this.#workspace.depsFor(caller).current(), { ...events, agreeOnPrice });
  }

  async batch(spec: BatchSpec, caller: Caller, events: BatchEvents): Promise<BatchResult> {
    const { batch } = await import("../core/use-cases/batch.ts");
    return batch(spec, await this.#workspace.depsFor(caller).current(), events);
  }

  /** @param names ids of tasks, or paths of their saved images */
  async status(
    names: readonly string[],
    { wait, ...destinationOptions }: PollOptions,
    caller: Caller,
    events?: StatusEvents,
  ): Promise<TaskReport[]> {
    const { namedTasks, status } = await import("../core/use-cases/status.ts");
    const deps = this.#workspace.depsFor(caller);
    const destination = await this.#destination(destinationOptions);
    const tasks = await namedTasks(names, this.#session.context.resolvePath, deps.ledger);
    return status(tasks, { wait, destination }, deps, events);
  }

  /** @param options.takesServed whether to also save images of `imggen serve` tasks in this command's destination */
  async resume(
    ids: readonly string[],
    {
      wait,
      takesServed = false,
      ...destinationOptions
    }: PollOptions & { wait: WaitSettings; takesServed?: boolean },
    caller: Caller,
    events?: ResumeEvents,
  ): Promise<ResumeReports> {
    const { isSandbox, context } = this.#session;
    const { overwrite = false, sidecar = false } = destinationOptions;
    const createDefaultDestination = (): Destination => ({
      kind: "folder",
      folder: context.resolvePath("."),
      template: DEFAULT_TEMPLATE,
      overwrite,
      ...(sidecar && { sidecar }),
    });
    const destination = await this.#destination(destinationOptions);
    const destinationOfServed = takesServed ? { placeOfServed: createDefaultDestination } : {};
    const spec = {
      ids,
      isSandbox,
      wait,
      destination,
      fallback: createDefaultDestination,
      ...destinationOfServed,
    };
    const { resume } = await import("../core/use-cases/resume.ts");
    return resume(spec, this.#workspace.depsFor(caller), events);
  }

  /** @throws UsageError for a task that might still produce images */
  async dismiss(ids: readonly string[]): Promise<TaskReport[]> {
    const { ledger } = this.#workspace;
    const reports: TaskReport[] = [];
    for (const { id, record } of await findNamed(ids, ledger)) {
      if (record === null) throw new UsageError(`The ledger has no task ${JSON.stringify(id)}.`);
      const reason = { why: "dismissed by the user", replacement: null };
      reports.push(await dismissTask(record, reason, ledger, await this.#isStuck(record)));
    }
    return reports;
  }

  /** @param wait limits of the wait for paid requests in flight; null: no wait */
  async cancel(
    ids: readonly string[],
    wait: WaitSettings | null,
    caller: Caller,
    onEnd?: (report: CancelReport) => Promise<void>,
  ): Promise<CancelReport[]> {
    const { cancel } = await import("../core/use-cases/cancel.ts");
    return cancel({ ids, wait }, this.#workspace.depsFor(caller), onEnd);
  }

  /** Finds removable records by id, or all older than `before`. @throws UsageError for an id that cannot be removed */
  async findForgettable(ids: readonly string[], before: string | undefined): Promise<Forgettable> {
    const { findForgettable, findOlderForgettable } = await import("../core/use-cases/forget.ts");
    const deps = { ledger: this.#workspace.ledger, clock: this.#session.context.clock };
    return before === undefined
      ? findForgettable(ids, deps)
      : findOlderForgettable(before, this.#session.isSandbox, deps);
  }

  /** Removes records, private copies and stored replies, never images, sidecars or a batch's rows. */
  async forget(tasks: Forgettable, signal: AbortSignal): Promise<ForgetResult> {
    const { forget } = await import("../core/use-cases/forget.ts");
    const { context, folders } = this.#session;
    const copyFolders = [referencesFolder(folders), workflowsFolder(folders)];
    return forget(tasks, { ledger: this.#workspace.ledger, clock: context.clock, signal, copyFolders });
  }

  close(): Promise<void> {
    return this.#workspace.close();
  }

  /** Whether a task cannot be continued because its provider is missing. */
  async #isStuck({ intent, id }: Task): Promise<boolean> {
    if (!isAtGenerator(intent)) return false;
    const { requireKnownGenerator } = await import("./targets/generator-setup.ts");
    try {
      requireKnownGenerator(intent.service.baseUrl, id, this.#session);
      return false;
    } catch (error) {
      if (error instanceof MissingProviderError) return true;
      throw error;
    }
  }

  #destination({
    output,
    name,
    overwrite = false,
    sidecar = false,
  }: DestinationOptions): Promise<Destination | null> {
    const { resolvePath } = this.#session.context;
    return resolveFileDestination({ output, name, overwrite, sidecar, resolvePath });
  }
}
