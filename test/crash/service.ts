import type { Socket } from "node:net";
import { buildPng } from "../lib/image/builders.ts";
import { numberIn, type Reply, type ServiceForm } from "../support/doubles/double.ts";
import { json, response } from "../support/scripted-server.ts";
import type { Charge, Double } from "./double.ts";
import { type RequestHead, readRequests, SocketServer } from "./socket-server.ts";
import { type Stage, StageWatch } from "./stages.ts";

/** A service, as far as this double plays it. */
export interface PlayedForm extends Pick<ServiceForm, "partOf" | "replies"> {
  /** How it answers the poll of a job that is still running. */
  running?: Reply | undefined;
  /** The name of a job, by the number of its submit; null where the reply is the image. */
  idOf: ((number: number) => string) | null;
}

/** How a service behaves in one scenario. */
export interface Behaviour {
  imagesPerTask: number;
  /** How many polls of a task find it still running. */
  runningPolls: number;
  /** So many submits are turned away with 429 before one is accepted. */
  turnedAway: number;
  /** What Retry-After asks for then, in seconds. */
  retryAfter: number;
}

/** An image unlike any other, by the number of its submit and its place in the reply. */
export const imageOf = (number: number, at: number) => buildPng(8 + number, 6 + at);

const NONE: Reply = () => json({ detail: "Not Found" }, 404);

/** Plays a service for one world, byte for byte. */
export class CrashService extends SocketServer implements Double {
  readonly charges: Charge[] = [];
  readonly posted: string[] = [];
  readonly polled = new Set<string>();
  posts = 0;
  watch = new StageWatch(null);
  readonly #form: PlayedForm;
  readonly #behaviour: Behaviour;
  readonly #polls = new Map<number, number>();
  #turnedAway = 0;

  constructor(form: PlayedForm, behaviour: Behaviour) {
    super((socket) => this.#serve(socket));
    this.#form = form;
    this.#behaviour = behaviour;
  }

  forget(): void {}

  #serve(socket: Socket): void {
    if (this.watch.strikes("connected", socket)) return;
    let isEnd: boolean | null = null;
    const isOver = (head: RequestHead) => {
      isEnd ??= this.#isEndAt(head, socket);
      return isEnd;
    };
    readRequests(socket, isOver, (head, body) => {
      isEnd = null;
      this.#answer(head, body, socket);
    });
  }

  #isEndAt(head: RequestHead, socket: Socket): boolean {
    if (this.#form.partOf(head) !== "submit") return false;
    this.posts += 1;
    return this.watch.strikes("submit: headers", socket);
  }

  #answer(head: RequestHead, body: string, socket: Socket): void {
    const part = this.#form.partOf(head);
    const number = numberIn(head.target);
    if (part === "submit") this.#submit(body, socket);
    else if (part === "poll") this.#poll(number, socket);
    else if (part === "file") this.#download(number, head.target, socket);
    else socket.write((this.#form.replies[part] ?? NONE)(this.origin, number));
  }

  #submit(body: string, socket: Socket): void {
    const prompt = /"prompt":"([^"]*)"/.exec(body)?.[1] ?? "";
    const isTurnedAway = this.#turnedAway < this.#behaviour.turnedAway;
    if (isTurnedAway) this.#turnedAway += 1;
    else this.posted.push(prompt);
    if (this.watch.strikes("submit: body", socket)) return;
    if (isTurnedAway) this.#turnAway(socket);
    else this.#accept(prompt, socket);
  }

  #turnAway(socket: Socket): void {
    const busy = response(429, "", { "retry-after": String(this.#behaviour.retryAfter) });
    this.#send(busy, { "submit: turned away": busy.length }, socket);
  }

  #accept(prompt: string, socket: Socket): void {
    const number = this.charges.length + 1;
    const taskId = this.#form.idOf?.(number) ?? `image-${number}`;
    const images = Array.from({ length: this.#behaviour.imagesPerTask }, (_, at) => imageOf(number, at));
    const reply = (this.#form.replies.submit ?? NONE)(this.origin, number);
    const head = headOf(reply);
    this.charges.push({ taskId, prompt, images, reply: reply.subarray(head) });
    if (this.watch.strikes("submit: charged", socket)) return;
    const stages = {
      "submit: first byte": head + 1,
      "submit: half a reply": half(head, reply),
      "submit: replied": reply.length,
    };
    this.#send(reply, stages, socket);
  }

  #poll(number: number, socket: Socket): void {
    const { idOf } = this.#form;
    if (idOf !== null) this.polled.add(idOf(number));
    const answer = () => this.#answerPoll(number, socket);
    if (!this.watch.strikes("poll: arrived", socket, answer)) answer();
  }

  #answerPoll(number: number, socket: Socket): void {
    const polls = (this.#polls.get(number) ?? 0) + 1;
    this.#polls.set(number, polls);
    const { replies, running } = this.#form;
    const answer = polls <= this.#behaviour.runningPolls ? running : replies.poll;
    const reply = (answer ?? NONE)(this.origin, number);
    const stages = { "poll: half a reply": half(headOf(reply), reply), "poll: replied": reply.length };
    this.#send(reply, stages, socket);
  }

  #download(number: number, target: string, socket: Socket): void {
    if (this.watch.strikes("download: arrived", socket)) return;
    const at = Number(/\/(\d+)\.png$/.exec(target)?.[1] ?? 0);
    const image = this.charges[number - 1]?.images[at] ?? Buffer.alloc(0);
    let reply = response(200, image, { "content-type": "image/png", connection: "close" });
    // Without a length only the image itself tells whether it is whole.
    if (this.watch.strike?.incident === "end")
      reply = Buffer.from(reply.toString("latin1").replace(/^content-length:.*\r\n/m, ""), "latin1");
    const head = headOf(reply);
    const stages = {
      "download: first byte": head + 1,
      "download: half": half(head, reply),
      "download: last byte": reply.length,
    };
    this.#send(reply, stages, socket, () => socket.end());
  }

  /** Sends a reply up to each of its stages in turn; parts that nobody waits for go out together. */
  #send(reply: Buffer, parts: Partial<Record<Stage, number>>, socket: Socket, after = () => {}): void {
    const stages = Object.entries(parts) as [Stage, number][];
    const sendRest = (sent: number): void => {
      const next = stages.shift();
      if (!next) after();
      else this.#sendPart(next, stages.length === 0, reply, sent, socket, sendRest);
    };
    sendRest(0);
  }

  #sendPart(
    [stage, end]: [Stage, number],
    last: boolean,
    reply: Buffer,
    sent: number,
    socket: Socket,
    sendRest: (sent: number) => void,
  ): void {
    if (!last && !this.watch.awaits(stage)) {
      this.watch.strikes(stage, socket);
      sendRest(sent);
      return;
    }
    const goOn = () => sendRest(end);
    socket.write(reply.subarray(sent, end), () => {
      if (!this.watch.strikes(stage, socket, goOn)) goOn();
    });
  }
}

/** How many bytes of a reply come before its body. */
function headOf(reply: Buffer): number {
  return reply.indexOf("\r\n\r\n") + 4;
}

function half(head: number, reply: Buffer): number {
  return head + ((reply.length - head) >> 1);
}
