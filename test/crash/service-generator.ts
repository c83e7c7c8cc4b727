import type { Socket } from "node:net";
import { numberIn, type Part, type Reply, type ServiceForm } from "../support/doubles/double.ts";
import { OPENAI } from "../support/doubles/synchronous.ts";
import { png } from "../support/images.ts";
import { json, response } from "../support/scripted-server.ts";
import type { CrashGenerator } from "./generator-world.ts";
import { type RequestHead, readRequests, SocketServer } from "./socket-server.ts";

/** The moments of one request at which the program can be killed, after that of its connection. */
const MOMENTS = ["headers", "body", "first byte", "half a reply", "last byte"] as const;

/** Plays a service that is paid for each image, and keeps the truth about what it was asked. */
export class ServiceGenerator extends SocketServer implements CrashGenerator {
  requests = 0;
  readonly made: Buffer[] = [];
  onMoment: CrashGenerator["onMoment"] = () => false;
  readonly #form: Pick<ServiceForm, "kind" | "basePath" | "model" | "partOf">;
  readonly #replies: Partial<Record<Part, Reply>>;
  #isAsked = false;

  /** @param replies of its form, as far as they are not of the form's own image */
  constructor(form: ServiceForm, replies: Partial<Record<Part, Reply>>) {
    super((socket) => this.#serve(socket));
    this.#form = form;
    this.#replies = { ...form.replies, ...replies };
  }

  get words(): readonly string[] {
    return ["--generator-paid", "--model", this.#form.model];
  }

  get spec(): string {
    return `${this.#form.kind}:${this.origin}${this.#form.basePath}`;
  }

  forget(): void {}

  #serve(socket: Socket): void {
    // The first connection asks for its models, which costs nothing.
    if (this.#isAsked && this.onMoment("connected")) return;
    let current: RequestHead | null = null;
    const isOver = (head: RequestHead) => {
      if (current !== null) return false;
      current = head;
      const part = this.#form.partOf(head);
      if (part === "submit") this.requests += 1;
      return this.#isAt(part, "headers");
    };
    readRequests(socket, isOver, (head) => {
      current = null;
      const part = this.#form.partOf(head);
      this.#isAsked = true;
      if (part === "submit") this.made.push(png(this.made.length + 1));
      const number = part === "submit" ? this.made.length : numberIn(head.target);
      if (!this.#isAt(part, "body")) this.#send(socket, part, number);
    });
  }

  /** Sends a reply in three parts, so that the program can be killed between them. */
  #send(socket: Socket, part: Part, number: number): void {
    const reply = this.#replies[part]?.(this.origin, number) ?? json({ detail: "Not Found" }, 404);
    const ends = [reply.length - 50, reply.length - 25, reply.length];
    const sendFrom = (at: number): void => {
      const end = ends[at];
      if (end === undefined) return;
      socket.write(reply.subarray(ends[at - 1] ?? 0, end), () => {
        if (!this.#isAt(part, MOMENTS[at + 2] as (typeof MOMENTS)[number])) sendFrom(at + 1);
      });
    };
    sendFrom(0);
  }

  /** Whether the program is gone. What is asked before the submit leaves nothing that could be lost. */
  #isAt(part: Part, moment: (typeof MOMENTS)[number]): boolean {
    if (part === "model" || part === "models") return false;
    return this.onMoment(part === "submit" ? moment : `${part}: ${moment}`);
  }
}

/** An OpenAI-compatible server: the reply is the image. */
export function imageGenerator(): ServiceGenerator {
  const submit: Reply = (_origin, number) => {
    const data = [{ b64_json: png(number).toString("base64") }];
    return json({ created: 1, data, usage: { total_tokens: 7 } });
  };
  return new ServiceGenerator(OPENAI, { submit });
}

/** A service that answers with an id, and is polled. */
export function jobGenerator(form: ServiceForm): ServiceGenerator {
  const file: Reply = (_origin, number) => response(200, png(number), { "content-type": "image/png" });
  return new ServiceGenerator(form, { file });
}
