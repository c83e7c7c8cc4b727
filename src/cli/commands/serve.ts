import type { Command } from "commander";
import { SERVE } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { targetInEffect } from "../../client/targets/target-in-effect.ts";
import { formatDuration } from "../../lib/duration.ts";
import { UsageError } from "../../lib/error-types.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { openServer } from "../../serve/open.ts";
import type { ServeEvent } from "../../serve/start.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { type LogLine, log, requestLine, serveUntilSignal, startOnPort } from "./serving.ts";

const DEFAULT_GRACE_MS = 30_000;

const MORE = [
  "Also serves OpenAI's images API below /v1 with the same key: images/generations, images/edits and models.",
  "Requests with the same Idempotency-Key header are one task for 7 days. Retries of OpenAI's clients are recognised too.",
  "Tasks stay in the ledger when the server stops. The next server, or imggen resume, continues them. imggen history lists them.",
  "After Ctrl-C or SIGTERM, waits for requests in flight; other tasks stay queued. A paid request that is still running after --grace is abandoned, and its outcome is unknown.",
  "Listens only on 127.0.0.1, and accepts only the key that it prints.",
];

const EXAMPLES = `
To serve other machines, use a reverse proxy with TLS, such as nginx:
  location ~ ^/(api|files|v1)/ {
    proxy_pass http://127.0.0.1:8787;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_buffering off;
    client_max_body_size 64m;
  }

Examples:
  $ imggen serve --generator http://localhost:1234
  $ imggen serve --generator http://localhost:1234 --port 8787 --grace 2m`;

export function register(command: Command, runWith: RunWith): void {
  command.description([command.description(), ...MORE].join("\n"));
  addOptions(command, SERVE).addHelpText("after", EXAMPLES).action(runWith(runServe));
}

async function runServe(
  session: Session,
  { port: flag, graceMs = DEFAULT_GRACE_MS, onceMs, keepAliveMs }: FlagsOf<typeof SERVE>,
): Promise<number> {
  const target = await targetInEffect(session);
  if (target.kind !== "generator") {
    throw new UsageError("No generator was given.", {
      hint: "For example: imggen serve --generator http://localhost:1234\nSee imggen help generators.",
    });
  }
  const server = await startOnPort(flag, (port) =>
    openServer(target, session, {
      graceMs,
      onceMs: onceMs ?? null,
      keepAliveMs: keepAliveMs ?? null,
      port,
      onEvent: (event) => log(eventLine(event), session),
      ...(session.options.verbose && { onRequest: (request) => log(requestLine(request), session) }),
    }),
  );
  const noteWaiting = (count: number) => {
    const tasks = pluralize(count, "task");
    void session.console.note(
      `Waiting up to ${formatDuration(graceMs)} for ${tasks}. A second signal stops the server at once.`,
    );
  };
  try {
    return await serveUntilSignal(session, server, `Serving ${await target.name()}`);
  } finally {
    await server.close(noteWaiting);
  }
}

/** Formats an event, such as `task_3f9c completed, sdxl, 1024x1024, 8.1 s, 3 waiting`. */
export function eventLine(event: ServeEvent): LogLine {
  switch (event.kind) {
    case "ended":
      return { subject: `${event.taskId} `, ...endLine(event) };
    case "paused":
      return { subject: "", result: "waiting", style: "warning", details: `: ${event.detail}` };
    case "dropped":
      return {
        subject: `${event.taskId} `,
        result: "not continued",
        style: "warning",
        details: `: ${event.why}`,
      };
  }
}

function endLine({
  taskId,
  task,
  end,
  ms,
  waitedMs,
  waiting,
}: Extract<ServeEvent, { kind: "ended" }>): Omit<LogLine, "subject"> {
  const files = end.name === "failed" ? [] : end.files;
  const sizes = files.map(({ width, height }) => `${width}x${height}`).join(" ");
  const model = task.intent.options.model;
  const time = `${formatDuration(ms)} (waited ${formatDuration(waitedMs)})`;
  const facts = [model, sizes, time, `${waiting} waiting`].filter(Boolean).join(", ");
  if (end.name === "failed") {
    const isUnknown = end.outcome === "unknown";
    const next = isUnknown ? ` To dismiss it: imggen resume ${taskId} --dismiss` : "";
    const status = isUnknown ? "outcome unknown" : "failed";
    return { result: status, style: "error", details: `, ${facts}: ${end.detail}${next}` };
  }
  if (end.missing.length === 0) return { result: "completed", style: "saved", details: `, ${facts}` };
  return { result: "completed", style: "error", details: ` in part, ${facts}: ${end.missing.join(" ")}` };
}
