import { type Answer, type Behaviour, type SeenRequest, success, toBehaviour } from "./scripted-server.ts";
import { pause } from "./wait.ts";

// Ready-made behaviours of a scripted service.

/** Plays one behaviour after the other, request by request; the last one stays. */
export function inTurn(...answers: Answer[]): Behaviour {
  let at = 0;
  return (request, socket) => {
    const answer = answers[Math.min(at, answers.length - 1)] ?? "";
    at += 1;
    return toBehaviour(answer)(request, socket);
  };
}

/** Sends these bytes as they are. */
export function replies(bytes: Buffer | string): Behaviour {
  return toBehaviour(bytes);
}

/** The task as a poll shows it; a URL that begins with `/` is one of the server's own. */
export function taskIs(data: object | ((origin: string) => object)): Behaviour {
  return (request, socket) => {
    socket.write(success(typeof data === "function" ? data(originOf(request)) : data));
  };
}

export const stillRunning = taskIs({ status: "processing", errorCode: 0 });

/** The task is completed, its image at this path of the server, or at this URL elsewhere. */
export function completedAt(...urls: string[]): Behaviour {
  return taskIs((origin) => {
    const whole = urls.map((url) => (url.startsWith("/") ? `${origin}${url}` : url));
    return { status: "completed", resultUrl: whole.length === 1 ? whole[0] : whole, errorCode: 0 };
  });
}

/** Resets the connection without a reply. */
export const reset: Behaviour = (_request, socket) => void socket.resetAndDestroy();

/** Never answers. */
export const silence: Behaviour = () => {};

/** Sends the first part and hangs up. */
export function cutShort(bytes: Buffer | string, length: number): Behaviour {
  return (_request, socket) => void socket.end(Buffer.from(bytes).subarray(0, length));
}

/** Sends the bytes in pieces, with a pause after each. */
export function drips(bytes: Buffer, pieceBytes: number, pauseMs: number): Behaviour {
  return async (_request, socket) => {
    for (let at = 0; at < bytes.length && socket.writable; at += pieceBytes) {
      socket.write(bytes.subarray(at, at + pieceBytes));
      await pause(pauseMs);
    }
  };
}

/** Answers as the other does, after a while. */
export function late(ms: number, answer: Answer): Behaviour {
  return async (request, socket) => {
    await pause(ms);
    await toBehaviour(answer)(request, socket);
  };
}

/** Answers each look by the task that it asks for; one that is not named by `others`. */
export function byTask(others: Behaviour, named: Record<string, Behaviour>): Behaviour {
  return (request, socket) => {
    const id = new URL(request.target, originOf(request)).searchParams.get("taskId") ?? "";
    return (named[id] ?? others)(request, socket);
  };
}

function originOf(request: SeenRequest): string {
  return `http://${request.headers.host}`;
}
