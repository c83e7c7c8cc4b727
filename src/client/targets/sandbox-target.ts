import { errorCode } from "../../lib/error-text.ts";
import { withoutCost } from "../../models/cost.ts";
import type { Matrix } from "../../models/matrix.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import { SANDBOX_SERVICE } from "../../task/intent.ts";
import { ok } from "../finding.ts";
import { sandboxFolder } from "../user-folders.ts";
import { serviceMatrix } from "./service-target.ts";
import type { OpenOptions, OpenTarget, Target, TargetCheck, TargetSession } from "./target.ts";

/** Duration of a task. It is shorter than in `imggen sandbox`, because a person waits for the command. */
const LATENCY_MS = 300;

export class SandboxTarget implements Target {
  readonly kind = "sandbox";
  readonly #session: TargetSession;

  constructor(session: TargetSession) {
    this.#session = session;
  }

  name = async (): Promise<string> => SANDBOX_SERVICE;
  url = (): null => null;
  key = this.name;
  terms = async (): Promise<null> => null;
  models = this.terms;
  describe = this.terms;

  async matrix(): Promise<Matrix> {
    return withoutCost(await serviceMatrix(this.#session));
  }

  async open({ requestTimeoutMs }: OpenOptions): Promise<OpenTarget> {
    const { startSandbox, SANDBOX_KEY } = await import("../../sandbox/server.ts");
    const { keyFingerprint } = await import("../../lib/fingerprint.ts");
    const { connectService } = await import("./service-connection.ts");
    const session = this.#session;
    const matrix = await serviceMatrix(session);
    const { drawPicture: draw, clock } = session.context;
    const folder = sandboxFolder(session.folders);
    const sandbox = await startService(folder, () =>
      startSandbox({
        folder,
        latencyMs: LATENCY_MS,
        matrix,
        refills: true,
        onNotice: session.onSandboxNotice,
        draw,
        clock,
      }),
    );
    const identity = { baseUrl: SANDBOX_SERVICE, keyId: keyFingerprint(SANDBOX_KEY) };
    const account = { baseUrl: sandbox.baseUrl, apiKey: SANDBOX_KEY, identity };
    // Bypasses proxies, because the sandbox is in this process.
    const { connection, close } = connectService(account, { requestTimeoutMs, usesProxy: false }, session);
    return {
      connection: { ...connection, taskMs: sandbox.latencyMs },
      close: async () => void (await Promise.all([close(), sandbox.close()])),
    };
  }

  /** Does not start the sandbox, which would create files. */
  async check(): Promise<TargetCheck> {
    return {
      service: () => ok("the embedded sandbox, which needs no network", { baseUrl: null }),
      key: () => ok("the sandbox's key", { key: null }),
      clock: () => null,
      isVerified: true,
      failure: () => null,
    };
  }
}

/** @throws StateFolderError if the folder is not writable, or the system's error about the port */
export async function startService<Service>(folder: string, start: () => Promise<Service>): Promise<Service> {
  try {
    return await start();
  } catch (error) {
    if (errorCode(error) === undefined || isPortError(error)) throw error;
    throw new StateFolderError(folder, error, {
      hint: "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.",
    });
  }
}

export function isPortError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}
