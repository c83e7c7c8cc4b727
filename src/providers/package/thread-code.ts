import type { MessagePort } from "node:worker_threads";

// The code of a package's own thread. It is passed as text, so it uses nothing but its parameters and what Node has.

/** What a thread begins with. */
export interface ThreadStart {
  /** The folder of installed packages. Nothing is loaded from anywhere else. */
  modules: string;
  /** Name of the package. */
  name: string;
  /** Calls for which this process waits without doing anything else. */
  blocking: MessagePort;
  /** All other calls, and those that the package makes. */
  port: MessagePort;
  /** Is set to 1 and notified once there is an answer to a blocking call. */
  answered: Int32Array;
}

/** A call of one of the package's functions, or of a function of an object that it has created. */
export interface ThreadCall {
  id: number;
  /** Object that `create` has made; null: the package itself. */
  object: number | null;
  name: string;
  args: unknown[];
  /** Number of the fetch function that is the call's, for `create` and `poll`. */
  fetch?: number;
}

/** The answer to a call: the result in JSON. */
export type ThreadAnswer =
  | { id: number; json: string | undefined; functions?: string[] }
  /** `fetch`: the failed fetch that the error is of. */
  | { id: number; error: string; fetch?: number }
  /** The thread is at its end. */
  | { fatal: string };

/** A GET that the package asks for. */
export interface ThreadFetch {
  fetch: number;
  request: number;
  at: unknown;
}

export type Fetched = { request: number } & ({ status: number; value: unknown } | { error: string });

/** Runs in the thread. */
export function threadMain(
  { modules, name, blocking, port, answered }: ThreadStart,
  vm: typeof import("node:vm"),
): void {
  type Functions = Record<string, (...args: unknown[]) => unknown>;
  const objects = new Map<number, Functions>();
  const requests = new Map<number, { done: (value: unknown) => void; fail: (error: Error) => void }>();
  const failedFetches = new WeakMap<object, number>();
  let last = 0;

  const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
  const answer = (to: MessagePort, message: ThreadAnswer) => {
    to.postMessage(message);
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  };

  let why = "";
  const end = (reason: string) => {
    why ||= reason;
    for (const to of [blocking, port]) answer(to, { fatal: why });
  };
  process.on("uncaughtException", (error) =>
    end(`an error was thrown outside of its functions: ${textOf(error)}`),
  );
  process.on("exit", (code) => end(`it ended with exit code ${code}`));
  // Standard output is for results.
  process.stdout.write = process.stderr.write.bind(process.stderr);

  const fetchFrom = (fetch: number) => (at: unknown) => {
    const request = ++last;
    port.postMessage({ fetch, request, at } satisfies ThreadFetch);
    return new Promise((done, fail) => requests.set(request, { done, fail }));
  };
  port.on("message", (message: ThreadCall | Fetched) => {
    if ("name" in message) return void run(port, message);
    const waiting = requests.get(message.request);
    requests.delete(message.request);
    if ("error" in message) {
      const error = new Error(message.error);
      failedFetches.set(error, message.request);
      waiting?.fail(error);
    } else waiting?.done({ status: message.status, json: async () => message.value });
  });
  blocking.on("message", (message: ThreadCall) => void run(blocking, message));

  // Of classes too, whose functions are not their objects' own.
  const functionsOf = (value: Record<string, unknown>) =>
    ["create", "keyHeaders", "check", "request", "read", "poll", "cancel", "models"].filter(
      (each) => typeof value[each] === "function",
    );

  const load = async () => {
    // Node warns of the way in which it is imported here, which is no concern of the user's.
    const { emitWarning } = process;
    process.emitWarning = () => {};
    // As if it were imported by a file in the folder, so that nothing above that is looked in before it.
    const importer = new vm.Script(`import(${JSON.stringify(name)})`, {
      filename: `${modules}/imggen.mjs`,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    const imported = importer.runInThisContext();
    process.emitWarning = emitWarning;
    const exported = (await imported) as { default?: { default?: unknown } };
    const main = exported.default ?? exported;
    // What compilers make of an ES module: CommonJS with a default of its own.
    const definition = "default" in Object(main) ? (main as { default?: unknown }).default : main;
    objects.set(0, Object(definition));
    return definition;
  };

  const run = async (to: MessagePort, { id, object, name: called, args, fetch }: ThreadCall) => {
    try {
      const extra = fetch === undefined ? undefined : fetchFrom(fetch);
      let value: unknown;
      if (called === "load") value = await load();
      else if (object === null && called === "create") {
        const created = await objects.get(0)?.create?.({ ...Object(args[0]), fetch: extra });
        objects.set(id, Object(created));
        value = created;
      } else {
        const given = extra === undefined ? args : [...args, { fetch: extra }];
        value = await objects.get(object ?? 0)?.[called]?.(...given);
      }
      const isObject = called === "load" || called === "create";
      const functions = isObject ? functionsOf(Object(value)) : [];
      const json = called === "create" ? undefined : JSON.stringify(value);
      answer(to, { id, json, functions });
    } catch (error) {
      const failed = typeof error === "object" && error !== null ? failedFetches.get(error) : undefined;
      answer(to, { id, error: textOf(error), ...(failed !== undefined && { fetch: failed }) });
    }
  };
}
