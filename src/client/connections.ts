import { guardedLookup, isLoopbackHost } from "../api/address.ts";
import { HttpClient, type HttpClientOptions } from "../api/http-client.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import type { Connection } from "../core/engine/deps.ts";
import { requireSameAccount, requireSameKey } from "../core/errors.ts";
import { UsageError } from "../lib/error-types.ts";
import { keyFingerprint } from "../lib/fingerprint.ts";
import { keyMasker } from "../lib/redact.ts";
import { option, phrase } from "../lib/wording.ts";
import { HttpImageService } from "../providers/service/http-service.ts";
import {
  type Intent,
  isAtGenerator,
  SANDBOX_SERVICE,
  type ServiceIdentity,
  serviceTerms,
} from "../task/intent.ts";
import { configuredService } from "./account.ts";
import type { ClientSession } from "./client-session.ts";
import type { OwnGenerator } from "./generator-settings.ts";
import { generatorInEffect, sandboxFolder, startService } from "./service-in-effect.ts";
import { storedAccount } from "./stored-account.ts";

/** How long a task of the embedded sandbox takes, in milliseconds: less than `imggen sandbox`, as a person waits. */
const EMBEDDED_LATENCY_MS = 300;

const SANDBOX_TOP_UP = "Nothing was charged. To give the sandbox more credits: imggen sandbox --credits 1000";

/** Whether an account is one of a sandbox on this machine, embedded or not: the keys that it names begin so. */
function isSandbox({ hostname }: URL, apiKey: string): boolean {
  return isLoopbackHost(hostname) && apiKey.startsWith("sk-sandbox");
}

interface Account {
  identity: ServiceIdentity;
  baseUrl: string;
  apiKey: string;
}

/** Connections to accounts, made when they are first needed and closed together. */
export class Connections {
  readonly #session: ClientSession;
  readonly #requestTimeoutMs: number | undefined;
  readonly #closers: (() => Promise<void>)[] = [];
  /** The embedded sandbox, and the user's own generators by how they are set up. */
  readonly #opened = new Map<string, Promise<Connection>>();
  readonly #accounts = new Map<string, Connection>();

  constructor(session: ClientSession, requestTimeoutMs: number | undefined) {
    this.#session = session;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  /**
   * The current account, ready for new requests: the embedded sandbox under `--sandbox`, else the user's own generator, or
   * the configured service.
   */
  async current(signal: AbortSignal): Promise<Connection> {
    if (this.#session.isSandbox) return this.#sandboxConnection();
    const generator = await generatorInEffect(this.#session);
    if (generator === null) return this.#configuredConnection();
    const connection = await this.#generatorConnection(generator);
    await connection.generator?.prepare?.(signal);
    return connection;
  }

  /**
   * A task's own account, of whichever profile. The sandbox is always available.
   * @param acceptsOtherKey whether another key than the task's will do
   * @throws OtherAccountError, MissingProviderError
   */
  async of(
    intent: Pick<Intent, "service" | "taskId">,
    taskId: string,
    acceptsOtherKey: boolean,
  ): Promise<Connection> {
    const { service: identity } = intent;
    if (identity.baseUrl === SANDBOX_SERVICE) return this.#sandboxConnection();
    if (this.#session.isSandbox) {
      throw new UsageError(`Task ${taskId} is not one of the sandbox.`, {
        hint: phrase`Omit ${option("sandbox")}.`,
      });
    }
    if (isAtGenerator(intent)) {
      const connection = await this.#generatorNamed(identity.baseUrl, taskId);
      if (!acceptsOtherKey) requireSameKey(intent, connection.identity, taskId);
      return connection;
    }
    try {
      const connection = this.#configuredConnection();
      requireSameAccount(intent, connection.identity, taskId);
      return connection;
    } catch (error) {
      const account = storedAccount(identity, this.#session.folders.config);
      if (account !== null) return this.#connectionTo({ ...account, identity });
      if (!acceptsOtherKey) throw error;
      const connection = this.#configuredConnection();
      requireSameAccount(intent, connection.identity, taskId, true);
      return connection;
    }
  }

  async close(): Promise<void> {
    // One that fails to close must not keep the others open, or fail a command that is done.
    await Promise.allSettled(this.#closers.map((close) => close()));
  }

  /** Asked for again each time: a login or a key may have changed, or come, since. */
  #configuredConnection(): Connection {
    const { baseUrl, apiKey } = configuredService(this.#session.settings);
    return this.#connectionTo({ baseUrl, apiKey, identity: { baseUrl, keyId: keyFingerprint(apiKey) } });
  }

  #connectionTo(account: Account): Connection {
    const key = `${account.identity.baseUrl} ${account.identity.keyId}`;
    const open = this.#accounts.get(key);
    if (open) return open;
    const proxies = proxiesFromEnvironment(this.#session.context.env);
    const connection = this.#connect(account, { proxies });
    this.#accounts.set(key, connection);
    return connection;
  }

  /** The generator of a stored task. @throws MissingProviderError */
  async #generatorNamed(name: string, taskId: string): Promise<Connection> {
    const { generatorOf, requireKnown } = await import("./own-generator.ts");
    requireKnown(name, taskId, this.#session);
    return this.#generatorConnection(generatorOf(name, this.#session));
  }

  /** A connection for each generator and its settings: a changed setting applies to the next task. */
  #generatorConnection(generator: OwnGenerator): Promise<Connection> {
    return this.#once(JSON.stringify([generator.spec, generator.options]), async () => {
      const { openGenerator } = await import("./generator-connection.ts");
      const { connection, close } = await openGenerator(generator, this.#session);
      this.#closers.push(close);
      return connection;
    });
  }

  /** Opens a connection once. One that could not be opened may be able to later. */
  #once(name: string, open: () => Promise<Connection>): Promise<Connection> {
    const opened = this.#opened.get(name) ?? open();
    this.#opened.set(name, opened);
    opened.catch(() => this.#opened.delete(name));
    return opened;
  }

  #sandboxConnection(): Promise<Connection> {
    return this.#once(SANDBOX_SERVICE, () => this.#startSandbox());
  }

  async #startSandbox(): Promise<Connection> {
    const { startSandbox, SANDBOX_KEY } = await import("../sandbox/server.ts");
    const { serviceMatrix } = await import("./matrix-in-effect.ts");
    const session = this.#session;
    const matrix = serviceMatrix(session);
    const { drawPicture: draw, clock } = session.context;
    const folder = sandboxFolder(session.folders);
    const sandbox = await startService(folder, () =>
      startSandbox({
        folder,
        latencyMs: EMBEDDED_LATENCY_MS,
        matrix,
        onRefill: (credits) => session.onRefill?.(credits),
        onUnknownDirective: session.onUnknownDirective,
        onUnknownSubject: session.onUnknownSubject,
        draw,
        clock,
      }),
    );
    this.#closers.push(() => sandbox.close());
    const identity = { baseUrl: SANDBOX_SERVICE, keyId: keyFingerprint(SANDBOX_KEY) };
    // Never through a proxy: it is inside this process.
    const connection = this.#connect({ baseUrl: sandbox.baseUrl, apiKey: SANDBOX_KEY, identity }, {});
    return { ...connection, taskMs: sandbox.latencyMs };
  }

  #connect({ baseUrl, apiKey, identity }: Account, options: HttpClientOptions): Connection {
    const serviceUrl = new URL(baseUrl);
    const { onExchange } = this.#session;
    const http = new HttpClient({ ...options, onExchange });
    const lookup = guardedLookup(serviceUrl.hostname);
    const downloads = new HttpClient({ ...options, onExchange, lookup });
    this.#closers.push(
      () => http.close(),
      () => downloads.close(),
    );
    const provider = new HttpImageService({
      http,
      clock: this.#session.context.clock,
      baseUrl,
      apiKey,
      requestTimeoutMs: this.#requestTimeoutMs,
    });
    const topUpHint = isSandbox(serviceUrl, apiKey) ? SANDBOX_TOP_UP : null;
    const maskKey = keyMasker(apiKey);
    return {
      identity,
      provider,
      downloads,
      serviceUrl,
      topUpHint,
      maskKey,
      maskUrl: maskKey,
      termsFor: serviceTerms,
    };
  }
}
