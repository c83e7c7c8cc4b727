import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { formatDuration } from "../../lib/duration.ts";
import type { Fetch, Provider, ProviderPackage, ProviderSetup } from "./interface.ts";
import {
  type Fetched,
  type ThreadAnswer,
  type ThreadCall,
  type ThreadFetch,
  threadMain,
} from "./thread-code.ts";

/** Limit of a call for which this process waits without doing anything else. */
const BLOCKING_MS = 15_000;

interface Waiting {
  done: (value: unknown) => void;
  fail: (error: unknown) => void;
}

interface Thread {
  worker: Worker;
  port: MessagePort;
  blocking: MessagePort;
  answered: Int32Array;
  /** Calls without an answer yet. */
  waiting: Map<number, Waiting>;
}

/** A value that a package has, as data, and the names of its functions. */
interface Described {
  data: unknown;
  functions: ReadonlySet<string>;
}

/**
 * A package in a thread of its own: what it prints goes to standard error, and an error outside of its functions, or
 * its own end, ends that thread alone. The next call starts another.
 */
export class PackageThread {
  readonly #modules: string;
  readonly #name: string;
  #thread: Thread | null = null;
  /** Number of the thread: what an earlier one has created is gone. */
  #generation = 0;
  #last = 0;
  readonly #fetches = new Map<number, Fetch>();
  /** Errors of fetches, so that one that goes through the package's code is still itself. */
  readonly #failed = new Map<number, unknown>();

  /** @param modules the folder that the package is installed in */
  constructor(modules: string, name: string) {
    this.#modules = modules;
    this.#name = name;
  }

  /** Loads the package. @throws its error, or one that names the package */
  load(): ProviderPackage {
    const { data, functions } = this.#start();
    return {
      ...(typeof data === "object" && data !== null ? data : {}),
      ...(functions.has("create") && { create: (setup: ProviderSetup) => this.#create(setup) }),
      ...(functions.has("keyHeaders") && {
        keyHeaders: (key: string) => this.#blockingCall(null, "keyHeaders", [key]).data,
      }),
    } as ProviderPackage;
  }

  /** Loads the package in a new thread. */
  #start(): Described {
    const [calls, blockingCalls] = [new MessageChannel(), new MessageChannel()];
    const answered = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const [port, blocking] = [calls.port2, blockingCalls.port2];
    const { modules, name } = { modules: this.#modules, name: this.#name };
    const worker = new Worker(
      `(${threadMain})(require("node:worker_threads").workerData, require("node:vm"))`,
      {
        eval: true,
        execArgv: [],
        stdout: true,
        workerData: { modules, name, port, blocking, answered },
        transferList: [port, blocking],
      },
    );
    const thread: Thread = {
      worker,
      port: calls.port1,
      blocking: blockingCalls.port1,
      answered,
      waiting: new Map(),
    };
    // The thread itself sends this to standard error.
    worker.stdout.resume();
    worker.on("error", (error) => this.#end(thread, error.message));
    worker.on("exit", (code) => this.#end(thread, `it ended with exit code ${code}`));
    thread.port.on("message", (message: ThreadAnswer | ThreadFetch) => void this.#receive(thread, message));
    // Waiting for an answer has a timer of its own.
    thread.port.unref();
    worker.unref();
    this.#thread = thread;
    this.#generation += 1;
    return this.#blockingCall(null, "load", []);
  }

  #create(setup: ProviderSetup): Provider {
    const { fetch, ...data } = setup;
    const number = this.#register(fetch);
    let generation = 0;
    let object = 0;
    let functions: ReadonlySet<string> = new Set();
    const create = () => {
      if (this.#thread !== null && generation === this.#generation) return object;
      if (this.#thread === null) this.#start();
      object = this.#last + 1;
      ({ functions } = this.#blockingCall(null, "create", [data], number));
      generation = this.#generation;
      return object;
    };
    create();
    const blocking =
      (name: string) =>
      (...args: unknown[]) =>
        this.#blockingCall(create(), name, args).data;
    const calling =
      (name: string) =>
      async (...args: unknown[]) =>
        this.#call(create(), name, args);
    const poll = async (id: string, { fetch: own }: { fetch: Fetch }) => {
      const call = this.#register(own);
      try {
        return await this.#call(create(), "poll", [id], call);
      } finally {
        this.#fetches.delete(call);
      }
    };
    const all = { check: blocking("check"), read: blocking("read"), cancel: blocking("cancel") };
    const further = { request: calling("request"), models: calling("models"), poll };
    const entries = Object.entries({ ...all, ...further });
    return Object.fromEntries(entries.filter(([name]) => functions.has(name))) as unknown as Provider;
  }

  #register(fetch: Fetch): number {
    this.#last += 1;
    this.#fetches.set(this.#last, fetch);
    return this.#last;
  }

  /** Calls a function, and does nothing else until its answer is there. @throws its error */
  #blockingCall(object: number | null, name: string, args: unknown[], fetch?: number): Described {
    const thread = this.#thread;
    if (thread === null) throw this.#gone("it has ended");
    const { blocking, answered } = thread;
    this.#last += 1;
    const id = this.#last;
    blocking.postMessage({
      id,
      object,
      name,
      args,
      ...(fetch !== undefined && { fetch }),
    } satisfies ThreadCall);
    const untilMs = performance.now() + BLOCKING_MS;
    for (;;) {
      const message = receiveMessageOnPort(blocking)?.message as ThreadAnswer | undefined;
      if (message !== undefined && "fatal" in message) throw this.#end(thread, message.fatal);
      if (message !== undefined && message.id === id) return described(message, this.#failed);
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw this.#end(thread, `it does not answer within ${formatDuration(BLOCKING_MS)}`);
      if (message !== undefined) continue;
      Atomics.wait(answered, 0, 0, leftMs);
      Atomics.store(answered, 0, 0);
    }
  }

  /** Calls a function. @throws its error */
  #call(object: number | null, name: string, args: unknown[], fetch?: number): Promise<unknown> {
    const thread = this.#thread;
    if (thread === null) throw this.#gone("it has ended");
    this.#last += 1;
    const id = this.#last;
    return new Promise((done, fail) => {
      thread.waiting.set(id, { done, fail });
      thread.port.postMessage({
        id,
        object,
        name,
        args,
        ...(fetch !== undefined && { fetch }),
      } satisfies ThreadCall);
    });
  }

  async #receive(thread: Thread, message: ThreadAnswer | ThreadFetch): Promise<void> {
    if ("at" in message) return this.#fetchFor(thread, message);
    if ("fatal" in message) return void this.#end(thread, message.fatal);
    const waiting = thread.waiting.get(message.id);
    thread.waiting.delete(message.id);
    try {
      waiting?.done(described(message, this.#failed).data);
    } catch (error) {
      waiting?.fail(error);
    }
  }

  async #fetchFor(thread: Thread, { fetch, request, at }: ThreadFetch): Promise<void> {
    let reply: Fetched;
    try {
      const answer = await this.#fetches.get(fetch)?.(String(at));
      if (answer === undefined) throw new Error("this call has ended");
      reply = { request, status: answer.status, value: await answer.json() };
    } catch (error) {
      this.#failed.set(request, error);
      reply = { request, error: error instanceof Error ? error.message : String(error) };
    }
    thread.port.postMessage(reply);
  }

  /** Ends a thread, and every call that has no answer. @returns their error */
  #end(thread: Thread | null, why: string): Error {
    const error = this.#gone(why);
    if (thread === null) return error;
    if (this.#thread === thread) this.#thread = null;
    for (const { fail } of thread.waiting.values()) fail(error);
    thread.waiting.clear();
    thread.port.close();
    thread.blocking.close();
    void thread.worker.terminate();
    return error;
  }

  #gone(why: string): Error {
    return new Error(`the package ${this.#name} was stopped: ${why.replace(/\.$/, "")}`);
  }
}

/** The value of an answer. @throws the error of the call */
function described(
  answer: Exclude<ThreadAnswer, { fatal: string }>,
  failed: Map<number, unknown>,
): Described {
  if (!("error" in answer)) {
    const data: unknown = answer.json === undefined ? undefined : JSON.parse(answer.json);
    return { data, functions: new Set(answer.functions) };
  }
  const { error, fetch } = answer;
  const own = fetch === undefined ? undefined : failed.get(fetch);
  if (fetch !== undefined) failed.delete(fetch);
  throw own ?? new Error(error);
}
