import type { IncomingHttpHeaders } from "node:http";
import { request } from "undici";
import { onTestFinished } from "vitest";
import { SANDBOX_KEY, type SandboxOptions, startSandbox } from "../../src/sandbox/server.ts";
import { plainPicture } from "../support/plain-picture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A reply of the API, read as section 2.1 says. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: {
    code: number;
    message: string;
    data?: { taskId: string; status?: string; resultUrl?: string | string[]; errorCode?: number };
  };
}

/** A sandbox for one test, and a client with a key. Tasks take no time, and images are plain, unless the test says so. */
export async function liveSandbox(options: Partial<SandboxOptions> = {}) {
  const folder = options.folder ?? (await temporaryFolder());
  const sandbox = await startSandbox({ latencyMs: 0, draw: plainPicture, ...options, folder });
  onTestFinished(() => sandbox.close());
  return { ...sandbox, folder, ...clientOf(sandbox.baseUrl, SANDBOX_KEY) };
}

export function clientOf(baseUrl: string, key: string) {
  const url = `${baseUrl}/generate-image`;
  const authorization = `Bearer ${key}`;
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    answer(url, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", ...headers },
      body,
    });
  const submit = (request: object) => post(JSON.stringify(request));
  const poll = (taskId: string) =>
    answer(`${url}?taskId=${encodeURIComponent(taskId)}`, { headers: { authorization } });
  const accepted = async (request: object) => {
    const { body } = await submit(request);
    if (body.data === undefined) throw new Error(`refused: ${body.message}`);
    return body.data.taskId;
  };
  /** The addresses of a request's images. */
  const made = async (request: object) =>
    [(await poll(await accepted(request))).body.data?.resultUrl ?? []].flat();
  return { as: (other: string) => clientOf(baseUrl, other), post, submit, poll, accepted, made };
}

/** Asks with undici's `request`, which takes half of the processor time of `fetch`. */
export async function answer(url: string, options?: Parameters<typeof request>[1]): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, options);
  return { status: statusCode, headers, body: JSON.parse(await body.text()) };
}

/** Buys for 8 credits, then 2, then 1, until nothing is left: the balance, found from outside. */
export async function drain({ submit }: Pick<ReturnType<typeof clientOf>, "submit">): Promise<number> {
  let spent = 0;
  for (const [credits, request] of [
    [8, { model: "gamma-image-2", quality: "4K" }],
    [2, { model: "gamma-image-2", quality: "1K" }],
    [1, { model: "z-image" }],
  ] as const) {
    while ((await submit({ prompt: "a fox", ...request })).body.code === 0) spent += credits;
  }
  return spent;
}
