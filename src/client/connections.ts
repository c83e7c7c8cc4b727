import type { Connection } from "../core/engine/deps.ts";
import { requireSameAccount, requireSameKey } from "../core/errors.ts";
import { UsageError } from "../lib/error-types.ts";
import { option, phrase } from "../lib/wording.ts";
import { type Intent, isAtGenerator, SANDBOX_SERVICE } from "../task/intent.ts";
import { storedAccount } from "./stored-account.ts";
import { SandboxTarget } from "./targets/sandbox-target.ts";
import { ServiceTarget } from "./targets/service-target.ts";
import type { Target, TargetSession } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

/** Connections to targets, made when they are first needed and closed together. */
export class Connections {
  readonly #session: TargetSession;
  readonly #requestTimeoutMs: number | undefined;
  readonly #closers: (() => Promise<void>)[] = [];
  /** By how the targets are set up: a changed setting applies to the next task. */
  readonly #opened = new Map<string, Promise<Connection>>();

  constructor(session: TargetSession, requestTimeoutMs: number | undefined) {
    this.#session = session;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  /** For new requests. */
  async current(signal: AbortSignal): Promise<Connection> {
    const connection = await this.#open(await targetInEffect(this.#session));
    await connection.generator?.prepare?.(signal);
    return connection;
  }

  /** For a stored task. @throws as `targetOf` */
  async of(
    intent: Pick<Intent, "service" | "taskId">,
    taskId: string,
    acceptsOtherKey: boolean,
  ): Promise<Connection> {
    return this.#open(await targetOf(intent, taskId, acceptsOtherKey, this.#session));
  }

  async close(): Promise<void> {
    // One that fails to close must not keep the others open, or fail a command that is done.
    await Promise.allSettled(this.#closers.map((close) => close()));
  }

  /** Opens a connection once. One that could not be opened may be able to later. */
  async #open(target: Target): Promise<Connection> {
    const key = await target.key();
    const open = async () => {
      const { connection, close } = await target.open({ requestTimeoutMs: this.#requestTimeoutMs });
      this.#closers.push(close);
      return connection;
    };
    const opened = this.#opened.get(key) ?? open();
    this.#opened.set(key, opened);
    opened.catch(() => this.#opened.delete(key));
    return opened;
  }
}

/**
 * The target of a stored task, of whichever profile. The sandbox is always available.
 * @param acceptsOtherKey whether another key than the task's will do
 * @throws OtherAccountError, MissingProviderError
 */
async function targetOf(
  intent: Pick<Intent, "service" | "taskId">,
  taskId: string,
  acceptsOtherKey: boolean,
  session: TargetSession,
): Promise<Target> {
  const { service: identity } = intent;
  if (identity.baseUrl === SANDBOX_SERVICE) return new SandboxTarget(session);
  if (session.isSandbox)
    throw new UsageError(`Task ${taskId} is not one of the sandbox.`, {
      hint: phrase`Omit ${option("sandbox")}.`,
    });
  if (isAtGenerator(intent)) {
    const { GeneratorTarget } = await import("./targets/generator-target.ts");
    const target = GeneratorTarget.ofTask(identity, taskId, session);
    if (!acceptsOtherKey) requireSameKey(intent, target.identity, taskId);
    return target;
  }
  const target = new ServiceTarget(session);
  try {
    requireSameAccount(intent, await target.identity(), taskId);
    return target;
  } catch (error) {
    const account = storedAccount(identity, session.folders.config);
    if (account !== null) return new ServiceTarget(session, account);
    if (!acceptsOtherKey) throw error;
    requireSameAccount(intent, await target.identity(), taskId, true);
    return target;
  }
}
