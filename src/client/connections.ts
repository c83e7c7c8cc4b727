import type { Connection } from "../core/engine/deps.ts";
import type { Intent } from "../task/intent.ts";
import type { Target, TargetSession } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";
import { targetOf } from "./targets/target-of-task.ts";

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
