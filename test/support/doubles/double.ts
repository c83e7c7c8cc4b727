import { PICTURE } from "../images.ts";
import { liveServer } from "../live-server.ts";
import {
  type Answer,
  type Behaviour,
  json,
  response,
  type SeenRequest,
  toBehaviour,
} from "../scripted-server.ts";

/** What a request to a service is for. */
export type Part = "submit" | "poll" | "result" | "cancel" | "model" | "models" | "file";

/** How a service answers a request. @param number of the submit that it belongs to, from 1 */
export type Reply = (origin: string, number: number) => Buffer;

/** A service as its documents describe it. */
export interface ServiceForm {
  /** As `--generator` has it. */
  kind: string;
  /** Added to the origin for `--generator`. */
  basePath: string;
  model: string;
  /** The header that carries a key, and its value. */
  header: readonly [name: string, value: (key: string) => string];
  partOf(request: Pick<SeenRequest, "method" | "target">): Part;
  /** When all goes well. */
  replies: Partial<Record<Part, Reply>>;
  /** The refusal of a request, in the service's form. */
  error: (status: number, words: string, headers?: Record<string, string>) => Buffer;
  /** What is said of a job that ended so; absent where the submit answers with the image. */
  ends?: Record<"failed" | "moderated" | "forgotten" | "running", Partial<Record<Part, Reply>>>;
}

export interface Double {
  origin: string;
  /** As `--generator` has it. */
  spec: string;
  requests: SeenRequest[];
  /** Its ledger: every request that it would have billed. */
  submits(): SeenRequest[];
  /** The requests for a part. */
  asked(part: Part): SeenRequest[];
  /** Whether the key reached anything but the API itself. */
  hasLeaked(): boolean;
  dropConnections(): void;
}

/** A service on loopback, gone after the test. @param script parts of it that answer otherwise */
export async function serviceDouble(
  form: ServiceForm,
  script: Partial<Record<Part, Answer>> = {},
): Promise<Double> {
  let submits = 0;
  const server = await liveServer((request, socket) => {
    const part = form.partOf(request);
    if (part === "submit") submits += 1;
    const scripted = script[part];
    if (scripted) return toBehaviour(scripted)(request, socket);
    const number = part === "submit" ? submits : numberIn(request.target);
    socket.write(replyTo(part, form)(`http://${request.headers.host}`, number));
  });
  const asked = (part: Part) => server.requests.filter((request) => form.partOf(request) === part);
  const [header] = form.header;
  return {
    origin: server.origin,
    spec: `${form.kind}:${server.origin}${form.basePath}`,
    requests: server.requests,
    asked,
    submits: () => asked("submit"),
    hasLeaked: () => asked("file").some(({ headers }) => headers[header] !== undefined),
    dropConnections: server.dropConnections,
  };
}

function replyTo(part: Part, { replies }: ServiceForm): Reply {
  const file: Reply = () => response(200, PICTURE, { "content-type": "image/png" });
  return replies[part] ?? (part === "file" ? file : () => json({ detail: "Not Found" }, 404));
}

/** Answers as a form's reply does. */
export function answers(reply: Reply, number = 1): Behaviour {
  return (request, socket) => void socket.write(reply(`http://${request.headers.host}`, number));
}

/** The number of the submit whose job or image a target names. */
export function numberIn(target: string): number {
  return Number(/-(\d+)(?:\D|$)/.exec(target)?.[1] ?? 1);
}

/** Where the double's image is. */
export function fileAt(origin: string, number: number): string {
  return `${origin}/files/image-${number}.png?signature=s3cret`;
}
