import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorCode } from "../lib/error-text.ts";
import type { ServerReply } from "./reply.ts";

type Picture = Extract<ServerReply, { kind: "picture" }>;

/** How a reply was sent. */
export interface Delivery {
  /** The HTTP status; 0 if the connection was closed without a reply. */
  status: number;
  /** The result, if there is more to say than the status. */
  note: string | null;
  /** Whether the service said no, which it does with the status 200 too. */
  isRefused: boolean;
}

/** Sends a reply. Never throws, even if the client has disconnected. */
export async function deliver(reply: ServerReply, outgoing: ServerResponse): Promise<Delivery> {
  const { note } = reply;
  switch (reply.kind) {
    case "envelope":
    case "json": {
      outgoing.writeHead(reply.status, { ...reply.headers, "Content-Type": "application/json" });
      outgoing.end(JSON.stringify(reply.body));
      const isRefused = reply.kind === "envelope" ? reply.body.code !== 0 : reply.status >= 400;
      return { status: reply.status, note, isRefused };
    }
    case "live": {
      const { status, note: said } = await reply.write(outgoing).catch((error: unknown) => {
        outgoing.destroy();
        return { status: 0, note: String(error) };
      });
      return { status, note: said, isRefused: status >= 400 };
    }
    case "page":
      outgoing.writeHead(reply.status, { "Content-Type": "text/html; charset=utf-8" });
      outgoing.end(reply.html);
      return { status: reply.status, note, isRefused: reply.status >= 400 };
    case "silence":
      outgoing.destroy();
      return { status: 0, note, isRefused: false };
    case "picture":
      return { status: 200, note: (await stream(reply, outgoing)) ?? note, isRefused: false };
  }
}

/** Streams an image while it is drawn or read, as fast as the client reads. @returns the error, if any */
async function stream(picture: Picture, outgoing: ServerResponse): Promise<string | null> {
  const { chunks, mediaType, bytes, cutShort, onSent } = picture;
  outgoing.writeHead(200, {
    "Content-Type": mediaType,
    ...(bytes !== null && { "Content-Length": String(bytes) }),
  });
  if (outgoing.req.method === "HEAD") {
    outgoing.end();
    return null;
  }
  try {
    await pipeline(Readable.from(chunks), outgoing, { end: !cutShort });
    if (cutShort) outgoing.socket?.destroySoon();
    else onSent?.();
    return null;
  } catch (error) {
    outgoing.destroy();
    if (errorCode(error) === "ERR_STREAM_PREMATURE_CLOSE") return "the client hung up";
    return `the image could not be sent: ${String(error)}`;
  }
}
