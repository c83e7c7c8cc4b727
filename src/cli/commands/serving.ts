import { once } from "node:events";
import { platform } from "node:os";
import { getExitCode } from "../../client/exit-codes.ts";
import { isPortError } from "../../client/targets/sandbox-target.ts";
import type { Environment } from "../../client/this-process.ts";
import { errorCode, errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { RequestLine } from "../../sandbox/server.ts";
import type { Session } from "../session/session.ts";
import type { TextStyle, TextStyleName } from "../text/colors.ts";

interface Address {
  baseUrl: string;
  apiKey: string;
  port: number;
  /** Base URL of OpenAI's API, if the server supports that API. The key is `apiKey`. */
  openaiBaseUrl?: string;
}

/** Prints the address and key of a server, and waits for a signal. @returns the exit code of the signal */
export async function serveUntilSignal(
  session: Session,
  { baseUrl, apiKey, port, openaiBaseUrl }: Address,
  title: string,
): Promise<number> {
  const { console, context, options } = session;
  if (options.json) {
    await session.console.json({
      ok: true,
      baseUrl,
      apiKey,
      port,
      ...(openaiBaseUrl !== undefined && { openaiBaseUrl }),
    });
  } else {
    const settings = {
      IMGGEN_BASE_URL: baseUrl,
      IMGGEN_API_KEY: apiKey,
      ...(openaiBaseUrl !== undefined && { OPENAI_BASE_URL: openaiBaseUrl, OPENAI_API_KEY: apiKey }),
    };
    await console.result(exportCommands(settings, context.env));
    await console.note(`${title} until Ctrl-C. To use the server, paste these lines into another terminal.`);
  }
  const { signal } = context;
  if (!signal.aborted) await once(signal, "abort");
  return getExitCode(signal.reason);
}

/** @throws UsageError if the port cannot be opened */
export async function startOnPort<Server>(
  flag: number | undefined,
  start: (port: number) => Promise<Server>,
): Promise<Server> {
  const port = flag ?? 0;
  try {
    return await start(port);
  } catch (error) {
    if (!isPortError(error)) throw error;
    const reason = errorCode(error) === "EADDRINUSE" ? "is in use" : `cannot be opened: ${errorText(error)}`;
    throw new UsageError(`Port ${port} ${reason}.`, {
      hint: "Choose another port with --port, or omit --port.",
      cause: error,
    });
  }
}

export function exportCommands(
  settings: Readonly<Record<string, string>>,
  { SHELL = "" }: Environment,
  osName: NodeJS.Platform = platform(),
): string[] {
  return Object.entries(settings).map(([name, value]) => {
    if (osName === "win32") return `$env:${name} = "${value}"`;
    return SHELL.endsWith("/fish")
      ? `set -gx ${name} ${shellWord(value)}`
      : `export ${name}=${shellWord(value)}`;
  });
}

export interface LogLine {
  subject: string;
  result: string;
  style: TextStyleName;
  details: string;
}

export function log({ subject, result, style, details }: LogLine, { console, context }: Session): void {
  const time = new Date(context.clock.now()).toTimeString().slice(0, 8);
  const head = `${time} ${subject}${result}`;
  const painted = (paint: TextStyle) => `${paint("detail", time)} ${subject}${paint(style, result)}`;
  void console.note(head + details, (paint) => (line) => line.replace(head, () => painted(paint)));
}

/** Formats a request: `14:30:05 POST /api/generate-image 200 task_3f9c gamma-image-2 "a fox", cost 2, 998 left`. */
export function requestLine({ method, path, status, isRefused, note }: RequestLine): LogLine {
  // Status 0 means no reply.
  const style = status === 0 || status >= 500 ? "error" : isRefused ? "warning" : "saved";
  const result = status === 0 ? "-" : String(status);
  return { subject: `${method} ${path} `, result, style, details: note === null ? "" : ` ${note}` };
}
