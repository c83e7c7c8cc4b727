import type { Socket } from "node:net";
import { buildPng } from "../lib/image/builders.ts";
import { response } from "../support/scripted-server.ts";
import { type RequestHead, readRequests, SocketServer } from "./socket-server.ts";

/** The moments of one request at which the program can be killed. */
export const MOMENTS = ["connected", "headers", "body", "first byte", "half a reply", "last byte"] as const;

export type Moment = (typeof MOMENTS)[number];

/** Plays an OpenAI-compatible server that is paid for each image, and keeps the truth about what it was asked. */
export class PaidGenerator extends SocketServer {
  /** The task id of each request whose head came, in their order. */
  readonly requests: string[] = [];
  /** The task ids of those whose image was made, and is paid for. */
  readonly paid: string[] = [];
  /** Called at each moment. Whether the program is gone: then nothing else is sent. */
  onMoment: (moment: Moment) => boolean = () => false;
  #isAsked = false;

  constructor() {
    super((socket) => this.#serve(socket));
  }

  /** The image that a request was paid for, unlike that of any other. @param number from 1 */
  image(number: number): Buffer {
    return buildPng(8 + number, 6);
  }

  #serve(socket: Socket): void {
    // The first connection asks for its models, which costs nothing.
    if (this.#isAsked && this.onMoment("connected")) return;
    let taskId: string | null = null;
    const isOver = ({ method, header }: RequestHead) => {
      if (method !== "POST") {
        this.#isAsked = true;
        socket.end(response(404, "{}", { "content-type": "application/json" }));
        return true;
      }
      if (taskId !== null) return false;
      taskId = header("x-client-request-id") ?? "none";
      this.requests.push(taskId);
      return this.onMoment("headers");
    };
    readRequests(socket, isOver, () => {
      this.paid.push(taskId ?? "none");
      if (!this.onMoment("body")) this.#reply(socket);
    });
  }

  /** Sends the reply in three parts, so that the program can be killed between them. */
  #reply(socket: Socket): void {
    const data = [{ b64_json: this.image(this.paid.length).toString("base64") }];
    const reply = response(200, JSON.stringify({ created: 1, data, usage: { total_tokens: 7 } }), {
      "content-type": "application/json",
      connection: "close",
    });
    const ends = [reply.length - 100, reply.length - 50, reply.length];
    const moments: Moment[] = ["first byte", "half a reply", "last byte"];
    const sendFrom = (at: number): void => {
      const [end, moment] = [ends[at], moments[at]];
      if (end === undefined || moment === undefined) return void socket.end();
      socket.write(reply.subarray(ends[at - 1] ?? 0, end), () => {
        if (!this.onMoment(moment)) sendFrom(at + 1);
      });
    };
    sendFrom(0);
  }
}
