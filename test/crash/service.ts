import type { Socket } from "node:net";
import { buildPng } from "../lib/image/builders.ts";
import { response, success } from "../support/scripted-server.ts";
import { type RequestHead, readRequests, SocketServer } from "./socket-server.ts";
import { type Stage, StageWatch } from "./stages.ts";

/** One accepted submit: what the account was charged for. */
export interface Charge {
  taskId: string;
  prompt: string;
}

interface ServiceOptions {
  imagesPerTask: number;
  /** How many polls of a task find it still running. */
  runningPolls: number;
  /** So many submits are turned away with 429 before one is accepted. */
  turnedAway: number;
  /** What Retry-After asks for then, in seconds. */
  retryAfter: number;
}

/** Plays the service for one world, and keeps the truth about what was submitted. */
export class CrashService extends SocketServer {
  readonly charges: Charge[] = [];
  /** The prompt of every POST that was not turned away with 429, accepted or not. */
  readonly posted: string[] = [];
  /** How many POSTs there were, those that were turned away included. */
  posts = 0;
  /** Task ids that were asked for. */
  readonly polled = new Set<string>();
  /** Sees the stages of the run that is under way. */
  watch = new StageWatch(null);
  readonly #options: ServiceOptions;
  readonly #polls = new Map<string, number>();
  readonly #images = new Map<string, Buffer[]>();

  constructor(options: ServiceOptions) {
    super((socket) => this.#serve(socket));
    this.#options = options;
  }

  /** The images of a task, each unlike any other. */
  images(taskId: string): Buffer[] {
    const width = 8 + Number(taskId.slice("task-".length));
    const { imagesPerTask } = this.#options;
    const images =
      this.#images.get(taskId) ?? Array.from({ length: imagesPerTask }, (_, at) => buildPng(width, 6 + at));
    this.#images.set(taskId, images);
    return images;
  }

  #serve(socket: Socket): void {
    if (this.watch.strikes("connected", socket)) return;
    const isOver = ({ method }: RequestHead) =>
      method === "POST" && this.watch.strikes("submit: headers", socket);
    readRequests(socket, isOver, ({ method, target }, body) => {
      if (method === "POST") this.#submit(body, socket);
      else if (target.startsWith("/api/")) this.#poll(target, socket);
      else this.#download(target, socket);
    });
  }

  #submit(body: string, socket: Socket): void {
    const { prompt } = JSON.parse(body);
    this.posts += 1;
    const isTurnedAway = this.posts <= this.#options.turnedAway;
    if (!isTurnedAway) this.posted.push(prompt);
    if (this.watch.strikes("submit: body", socket)) return;
    if (isTurnedAway) this.#turnAway(socket);
    else this.#accept(prompt, socket);
  }

  #turnAway(socket: Socket): void {
    const busy = response(429, "", { "retry-after": String(this.#options.retryAfter) });
    this.#send(busy, { "submit: turned away": busy.length }, socket);
  }

  #accept(prompt: string, socket: Socket): void {
    const taskId = `task-${String(this.charges.length + 1).padStart(4, "0")}`;
    this.charges.push({ taskId, prompt });
    if (this.watch.strikes("submit: charged", socket)) return;
    const reply = success({ taskId });
    this.#send(reply, { "submit: half a reply": reply.length - 20, "submit: replied": reply.length }, socket);
  }

  #poll(target: string, socket: Socket): void {
    const taskId = new URL(target, this.origin).searchParams.get("taskId") ?? "";
    this.polled.add(taskId);
    const answer = () => this.#answerPoll(taskId, socket);
    if (!this.watch.strikes("poll: arrived", socket, answer)) answer();
  }

  #answerPoll(taskId: string, socket: Socket): void {
    const polls = (this.#polls.get(taskId) ?? 0) + 1;
    this.#polls.set(taskId, polls);
    const urls = this.images(taskId).map((_, at) => `${this.origin}/${taskId}/${at}.png`);
    const completed = { status: "completed", resultUrl: urls.length === 1 ? urls[0] : urls, errorCode: 0 };
    const running = { status: "processing", errorCode: 0 };
    const reply = success(polls <= this.#options.runningPolls ? running : completed);
    this.#send(reply, { "poll: half a reply": reply.length - 20, "poll: replied": reply.length }, socket);
  }

  #download(target: string, socket: Socket): void {
    if (this.watch.strikes("download: arrived", socket)) return;
    const [, taskId = "", name = ""] = target.split("/");
    const image = this.images(taskId)[Number.parseInt(name, 10)] ?? Buffer.alloc(0);
    let reply = response(200, image, { "content-type": "image/png", connection: "close" });
    // Without a length only the image itself tells whether it is whole.
    if (this.watch.strike?.incident === "end") {
      reply = Buffer.from(reply.toString("latin1").replace(/^content-length:.*\r\n/m, ""), "latin1");
    }
    const head = reply.length - image.length;
    const parts = {
      "download: first byte": head + 1,
      "download: half": head + (image.length >> 1),
      "download: last byte": reply.length,
    };
    this.#send(reply, parts, socket, () => socket.end());
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
