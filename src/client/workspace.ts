import { setMaxListeners } from "node:events";
import type { Connection, TaskDeps, UseCaseDeps } from "../core/engine/deps.ts";
import { StoppableJobs } from "../core/engine/stoppable-jobs.ts";
import { RunFileNames } from "../core/images/published-names.ts";
import { dayCap } from "../core/limits/budget.ts";
import { Gate } from "../core/limits/gate.ts";
import { PollingSchedules } from "../core/polling/choose-schedule.ts";
import type { Ledger } from "../store/ledger.ts";
import { SANDBOX_SERVICE } from "../task/intent.ts";
import { type ClientSession, openLedger } from "./client-session.ts";
import type { Target } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";
import { taskTarget } from "./targets/target-of-task.ts";

export interface Caller
  extends Pick<TaskDeps, "signal" | "onProgress" | "onPreview" | "writeOut" | "acceptsOtherKey"> {
  onStoppable?: ((jobs: StoppableJobs) => void) | undefined;
}

/** The ledger and the connections of tasks, which are opened on first use and closed together. */
export class Workspace {
  readonly ledger: Ledger;
  readonly #session: ClientSession;
  readonly #requestTimeoutMs: number | undefined;
  readonly #closers: (() => Promise<void>)[] = [];
  /** Connections by target key. A changed setting changes the key, so that the next task opens a new connection. */
  readonly #opened = new Map<string, Promise<Connection>>();
  readonly #schedules = new Map<Connection, PollingSchedules>();

  constructor(session: ClientSession, requestTimeoutMs: number | undefined) {
    this.ledger = openLedger(session);
    this.#session = session;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  /** Returns the dependencies of a caller's tasks. Tasks of the same account share their dependencies. */
  depsFor(caller: Caller): UseCaseDeps {
    // Removes the limit for warnings about leaks, because each awaited task adds a listener to the signal.
    setMaxListeners(0, caller.signal);
    const depsByConnection = new Map<Connection, TaskDeps>();
    const { onStoppable, ...rest } = caller;
    const stoppable = onStoppable && new StoppableJobs(() => stoppable && onStoppable(stoppable));
    // All accounts share one list of file names, so that no image replaces an image of another account.
    const publishedNames = new RunFileNames(this.#session.context.clock.now());
    const at = (connection: Connection) => {
      const deps =
        depsByConnection.get(connection) ??
        this.#deps(connection, { ...rest, ...(stoppable && { stoppable }), published: publishedNames });
      depsByConnection.set(connection, deps);
      return deps;
    };
    return {
      ledger: this.ledger,
      clock: this.#session.context.clock,
      signal: caller.signal,
      current: async () => {
        const connection = await this.#open(await targetInEffect(this.#session));
        await connection.generator?.prepare?.(caller.signal);
        return at(connection);
      },
      depsFor: async (intent, taskId) => {
        const acceptsOtherKey = caller.acceptsOtherKey === true;
        return at(await this.#open(await taskTarget(intent, taskId, acceptsOtherKey, this.#session)));
      },
    };
  }

  #deps(
    connection: Connection,
    caller: Omit<Caller, "onStoppable"> & Pick<TaskDeps, "published" | "stoppable">,
  ): TaskDeps {
    const { settings, context, caps = [] } = this.#session;
    const { clock, fileMode, random } = context;
    const { identity, taskMs } = connection;
    const schedules = this.#schedules.get(connection) ?? new PollingSchedules(this.ledger, identity, taskMs);
    this.#schedules.set(connection, schedules);
    const isPlayMoney = identity.baseUrl === SANDBOX_SERVICE;
    const dailyCredits = isPlayMoney ? null : settings.dailyCredits();
    return {
      connection,
      ledger: this.ledger,
      schedules,
      clock,
      fileMode,
      random,
      ...caller,
      gate: new Gate({ clock, random }),
      caps: [...caps, ...(isPlayMoney ? [] : [dayCap({ ledger: this.ledger, clock, dailyCredits })])],
      dailyCredits,
      downloadIdleMs: this.#requestTimeoutMs,
    };
  }

  /** Opens the connection on first use. After an error, the next task tries again. */
  async #open(target: Target): Promise<Connection> {
    const key = await target.key();
    const connect = async () => {
      const { connection, close } = await target.open({ requestTimeoutMs: this.#requestTimeoutMs });
      this.#closers.push(close);
      return connection;
    };
    const connecting = this.#opened.get(key) ?? connect();
    this.#opened.set(key, connecting);
    connecting.catch(() => this.#opened.delete(key));
    return connecting;
  }

  async close(): Promise<void> {
    // A connection that fails to close must not keep others open, or fail a completed command.
    await Promise.allSettled(this.#closers.map((close) => close()));
  }
}
