import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { formatDuration } from "../../lib/duration.ts";
import type { Fetch, Provider, ProviderPackage, ProviderSetup } from "./interface.ts";

// A package runs in a thread, not in a process, because a thread returns the results of synchronous functions
// (`check`, `read`) within microseconds, and the single executable contains no Node.js for a new process.

/** Timeout of a synchronous call, in milliseconds. The call blocks this process. */
const SYNCHRONOUS_TIMEOUT_MS = 15_000;

/** Serializable setup of a provider. `number`: id of the provider and of its fetch function. */
interface Owner {
  number: number;
  setup: object;
}

/** Call of a function of the owner's provider, or of the package if there is no owner. */
interface Call {
  name: string;
  args: unknown[];
  owner?: Owner;
  /** Id of the fetch function that is passed to this call. */
  fetch?: number;
}

/** Result of a call: JSON, and the names of the result's functions, because JSON cannot contain functions. */
type ThreadAnswer =
  | { id: number; json: string | undefined; functions: string[] }
  /** `fetch`: id of the failed request that caused the error. */
  | { id: number; error: string; fetch?: number };

/** A GET request by the package, to be sent by this process. */
interface ThreadFetch {
  fetch: number;
  request: number;
  at: unknown;
}

/** `fatal`: reason why the thread must be stopped. */
type FromThread = ThreadAnswer | ThreadFetch | { fatal: string };

type Fetched = { request: number } & ({ status: number; value: unknown } | { error: string });

interface Thread {
  worker: Worker;
  port: MessagePort;
  /** The thread sets this value to 1 and notifies waiters after each message. */
  hasMessage: Int32Array;
  /** Calls without a result, by id. */
  waiting: Map<number, (result: () => Result) => void>;
}

interface Result {
  data: unknown;
  functions: ReadonlySet<string>;
}

const SYNCHRONOUS_FUNCTIONS: ReadonlySet<string> = new Set(["check", "read", "cancel"]);

/** Runs a package in a thread. If the package crashes or exits, only the thread ends. The next call starts another. */
export class PackageThread {
  readonly #modules: string;
  readonly #name: string;
  #thread: Thread | null = null;
  #lastId = 0;
  readonly #fetches = new Map<number, Fetch>();
  /** Original errors of failed requests by id. They are kept, because the thread receives only their messages. */
  readonly #failed = new Map<number, unknown>();

  constructor(modules: string, name: string) {
    this.#modules = modules;
    this.#name = name;
  }

  /** @throws the package's error, or an Error with the package's name if the thread was stopped */
  load(): ProviderPackage {
    const { data, functions } = this.#blockingCall({ name: "load", args: [] });
    return {
      ...(typeof data === "object" && data !== null ? data : {}),
      ...(functions.has("create") && { create: (setup: ProviderSetup) => this.#create(setup) }),
      ...(functions.has("keyHeaders") && {
        keyHeaders: (key: string) => this.#blockingCall({ name: "keyHeaders", args: [key] }).data,
      }),
    } as ProviderPackage;
  }

  /** Returns the provider for a setup. Each new thread creates the provider again, because threads share no state. */
  #create({ fetch, ...setup }: ProviderSetup): Provider {
    const owner = { number: this.#register(fetch), setup };
    const { functions } = this.#blockingCall({ name: "create", args: [], owner });
    const poll = async (id: string, { fetch: callFetch }: { fetch: Fetch }) => {
      const number = this.#register(callFetch);
      try {
        return await this.#call({ name: "poll", args: [id], owner, fetch: number });
      } finally {
        this.#fetches.delete(number);
      }
    };
    const createMethod = (name: string) =>
      SYNCHRONOUS_FUNCTIONS.has(name)
        ? (...args: unknown[]) => this.#blockingCall({ name, args, owner }).data
        : (...args: unknown[]) => this.#call({ name, args, owner });
    const entries = [...functions].map((name) => [name, name === "poll" ? poll : createMethod(name)]);
    return Object.fromEntries(entries);
  }

  #register(fetch: Fetch): number {
    this.#lastId += 1;
    this.#fetches.set(this.#lastId, fetch);
    return this.#lastId;
  }

  /** Blocks this process until the result arrives. @throws the function's error */
  #blockingCall(call: Call): Result {
    let answer: (() => Result) | undefined;
    const thread = this.#send(call, (result) => {
      answer = result;
    });
    const untilMs = performance.now() + SYNCHRONOUS_TIMEOUT_MS;
    while (answer === undefined) {
      const message: FromThread | undefined = receiveMessageOnPort(thread.port)?.message;
      const remainingMs = untilMs - performance.now();
      if (message !== undefined) this.#receive(thread, message);
      else if (remainingMs <= 0)
        this.#end(thread, `it does not answer within ${formatDuration(SYNCHRONOUS_TIMEOUT_MS)}`);
      else {
        Atomics.wait(thread.hasMessage, 0, 0, remainingMs);
        Atomics.store(thread.hasMessage, 0, 0);
      }
    }
    return answer();
  }

  /** @throws the function's error */
  async #call(call: Call): Promise<unknown> {
    const answer = await new Promise<() => Result>((resolve) => void this.#send(call, resolve));
    return answer().data;
  }

  #send(call: Call, onResult: (result: () => Result) => void): Thread {
    this.#thread ??= this.#start();
    this.#lastId += 1;
    this.#thread.waiting.set(this.#lastId, onResult);
    this.#thread.port.postMessage({ id: this.#lastId, ...call });
    return this.#thread;
  }

  #start(): Thread {
    const { port1, port2: port } = new MessageChannel();
    const hasMessage = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(`(${threadMain})(require("node:worker_threads").workerData, require)`, {
      eval: true,
      execArgv: [],
      // `true` keeps the thread's output away from standard output, which is reserved for results.
      stdout: true,
      workerData: { modules: this.#modules, name: this.#name, port, hasMessage } satisfies ThreadStart,
      transferList: [port],
    });
    const thread: Thread = { worker, port: port1, hasMessage, waiting: new Map() };
    worker.stdout.resume();
    worker.on("error", (error) => this.#end(thread, error.message));
    worker.on("exit", (code) => this.#end(thread, `it ended with exit code ${code}`));
    port1.on("message", (message: FromThread) => this.#receive(thread, message));
    // The port does not keep the process alive, because each wait for a package has its own timer.
    port1.unref();
    worker.unref();
    return thread;
  }

  #receive(thread: Thread, message: FromThread): void {
    if ("fatal" in message) this.#end(thread, message.fatal);
    else if ("at" in message) void this.#fetchFor(thread, message);
    else {
      const onResult = thread.waiting.get(message.id);
      thread.waiting.delete(message.id);
      onResult?.(() => this.#toResult(message));
    }
  }

  #toResult(answer: ThreadAnswer): Result {
    if (!("error" in answer)) {
      const data: unknown = answer.json === undefined ? undefined : JSON.parse(answer.json);
      return { data, functions: new Set(answer.functions) };
    }
    const { error, fetch = 0 } = answer;
    const fetchError = this.#failed.get(fetch);
    this.#failed.delete(fetch);
    throw fetchError ?? new Error(error);
  }

  async #fetchFor({ port }: Thread, { fetch, request, at }: ThreadFetch): Promise<void> {
    let reply: Fetched;
    try {
      const answer = await this.#fetches.get(fetch)?.(String(at));
      if (answer === undefined) throw new Error("this call has ended");
      reply = { request, status: answer.status, value: await answer.json() };
    } catch (error) {
      this.#failed.set(request, error);
      reply = { request, error: error instanceof Error ? error.message : String(error) };
    }
    port.postMessage(reply);
  }

  #end(thread: Thread, why: string): void {
    if (this.#thread === thread) this.#thread = null;
    const error = new Error(`the package ${this.#name} was stopped: ${why.replace(/\.$/, "")}`);
    for (const onResult of thread.waiting.values())
      onResult(() => {
        throw error;
      });
    thread.waiting.clear();
    thread.port.close();
    void thread.worker.terminate();
  }
}

interface ThreadStart {
  modules: string;
  name: string;
  port: MessagePort;
  hasMessage: Int32Array;
}

/** Main function of the thread. It is passed as text, so it must use only its parameters and Node's globals. */
function threadMain({ modules, name, port, hasMessage }: ThreadStart, load: NodeJS.Require): void {
  const vm: typeof import("node:vm") = load("node:vm");
  const { syncBuiltinESMExports }: typeof import("node:module") = load("node:module");
  type Functions = Record<string, (...args: unknown[]) => unknown>;
  const requests = new Map<number, { succeed: (value: unknown) => void; fail: (error: Error) => void }>();
  const failedFetches = new WeakMap<object, number>();
  let lastRequest = 0;

  const post = (message: FromThread) => {
    port.postMessage(message);
    Atomics.store(hasMessage, 0, 1);
    Atomics.notify(hasMessage, 0);
  };

  const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error));
  let endReason = "";
  const reportEnd = (reason: string) => {
    endReason ||= reason;
    post({ fatal: endReason });
  };
  process.on("uncaughtException", (error) =>
    reportEnd(`an error was thrown outside of its functions: ${errorText(error)}`),
  );
  process.on("exit", (code) => reportEnd(`it ended with exit code ${code}`));

  // The package's output is redirected to standard error, because standard output is reserved for results.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const fs: Functions = load("node:fs");
  const writeFunctions = ["write", "writev", "writeFile", "appendFile"];
  for (const each of writeFunctions.flatMap((write) => [write, `${write}Sync`]))
    fs[each] = new Proxy(fs[each] ?? (() => {}), {
      apply: (write, self, [to, ...rest]) => Reflect.apply(write, self, [to === 1 ? 2 : to, ...rest]),
    });
  // Output of programs that the package starts is redirected too.
  const programs: typeof import("node:child_process") = load("node:child_process");
  const redirectStdio = (options: { stdio?: unknown } | undefined) => {
    const stdio = options?.stdio === "inherit" ? ["inherit", "inherit", "inherit"] : options?.stdio;
    if (!Array.isArray(stdio)) return options;
    const isOutput = (to: unknown, at: number) => to === 1 || (to === "inherit" && at === 1);
    return { ...options, stdio: stdio.map((to, at) => (isOutput(to, at) ? 2 : to)) };
  };
  const redirectOptions = {
    apply: (start: never, self: unknown, args: never[]) =>
      Reflect.apply(start, self, args.map(redirectStdio)),
  };
  const { prototype } = programs.ChildProcess as unknown as { prototype: Functions };
  prototype.spawn = new Proxy(prototype.spawn ?? (() => {}), redirectOptions);
  for (const each of ["spawnSync", "execSync", "execFileSync"] as const)
    (programs as unknown as Functions)[each] = new Proxy(
      programs[each] as Functions[string],
      redirectOptions,
    );
  syncBuiltinESMExports();

  const fetchFrom = (fetch: number) => (at: unknown) => {
    const request = ++lastRequest;
    post({ fetch, request, at });
    return new Promise((succeed, fail) => requests.set(request, { succeed, fail }));
  };

  const loadDefinition = async () => {
    // Node's warning that `USE_MAIN_CONTEXT_DEFAULT_LOADER` is experimental is suppressed.
    const { emitWarning } = process;
    process.emitWarning = () => {};
    // The file name is in the folder of installed packages, so that Node searches this folder first.
    const importer = new vm.Script(`import(${JSON.stringify(name)})`, {
      filename: `${modules}/imggen.mjs`,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    const imported = importer.runInThisContext();
    process.emitWarning = emitWarning;
    const exported = (await imported) as { default?: { default?: unknown } };
    const main = exported.default ?? exported;
    // If a compiler converted an ES module to CommonJS, the module's default export is nested.
    return "default" in Object(main) ? (main as { default?: unknown }).default : main;
  };
  let definition: Promise<unknown> | undefined;
  const providers = new Map<number, Promise<unknown>>();
  const create = async ({ number, setup }: Owner) => {
    const functions: Functions = Object(await definition);
    return functions.create?.({ ...setup, fetch: fetchFrom(number) });
  };
  const findOwner = (owner: Owner | undefined) => {
    definition ??= loadDefinition();
    if (owner === undefined) return definition;
    const provider = providers.get(owner.number) ?? create(owner);
    providers.set(owner.number, provider);
    return provider;
  };

  // Reads each name, because `Object.keys` does not list inherited functions of class instances.
  const listFunctions = (value: Functions) =>
    ["create", "keyHeaders", "check", "request", "read", "poll", "cancel", "models"].filter(
      (each) => typeof value[each] === "function",
    );

  const run = async ({ id, name: functionName, args, owner, fetch }: Call & { id: number }) => {
    try {
      const value = await findOwner(owner);
      const functions = Object(value) as Functions;
      if (functionName === "load" || functionName === "create") {
        const json = functionName === "load" ? JSON.stringify(value) : undefined;
        return post({ id, json, functions: listFunctions(functions) });
      }
      const callArgs = fetch === undefined ? args : [...args, { fetch: fetchFrom(fetch) }];
      post({ id, json: JSON.stringify(await functions[functionName]?.(...callArgs)), functions: [] });
    } catch (error) {
      const failed = failedFetches.get(Object(error));
      post({ id, error: errorText(error), ...(failed !== undefined && { fetch: failed }) });
    }
  };

  port.on("message", (message: (Call & { id: number }) | Fetched) => {
    if ("name" in message) return void run(message);
    const waiting = requests.get(message.request);
    requests.delete(message.request);
    if ("error" in message) {
      const error = new Error(message.error);
      failedFetches.set(error, message.request);
      waiting?.fail(error);
    } else waiting?.succeed({ status: message.status, json: async () => message.value });
  });
}
