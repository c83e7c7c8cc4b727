import type { Command } from "commander";
import { termsAsked } from "../../client/generator-terms.ts";
import type { OwnGenerator } from "../../client/own-generator.ts";
import { startGenerator } from "../../client/start-generator.ts";
import { durationOption, formatDuration } from "../../lib/duration.ts";
import { UsageError } from "../../lib/error-types.ts";
import { counted } from "../../lib/whole-number.ts";
import type { ServiceEvent } from "../../sandbox/generator-service.ts";
import { ANY_MODEL } from "../../task/request.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { type LogLine, log, requestLine, serveUntilSignal, startOnPort } from "./serving.ts";

interface ServeFlags {
  port?: string;
  grace?: string;
}

const MORE = [
  "It also runs the tasks that ended commands have left in the generator's queue.",
  "After Ctrl-C or SIGTERM, tasks that run are finished and the others stay queued. A paid request that is still running after --grace is given up: its outcome is unknown.",
  "It listens on 127.0.0.1 alone, and answers only to the key that it prints.",
];

const EXAMPLES = `
For other machines, a reverse proxy with TLS, such as nginx:
  location ~ ^/(api|files)/ {
    proxy_pass http://127.0.0.1:8787;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-Proto $scheme;
  }

Examples:
  $ imggen serve --generator http://localhost:1234
  $ imggen serve --generator http://localhost:1234 --port 8787 --grace 2m`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description([command.description(), ...MORE].join("\n"))
    .option("--port <n>", "port on 127.0.0.1 (default: any free one)")
    .option("--grace <duration>", "how long running tasks may take after Ctrl-C or SIGTERM (default: 30s)")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runServe));
}

async function runServe(session: Session, flags: ServeFlags): Promise<number> {
  const own = await session.ownGenerator();
  if (own === null) {
    throw new UsageError("No generator is given.", {
      hint: "Name yours: imggen serve --generator http://localhost:1234\nSee imggen help generators.",
    });
  }
  const { grace = "30s" } = flags;
  const graceMs = durationOption("--grace", grace);
  const options = { ...own.options, model: await defaultModel(own, session) };
  const service = await start(session, { ...own, options }, flags);
  try {
    return await serveUntilSignal(session, service, `Serving ${own.spec.name}`);
  } finally {
    await service.close((count) => sayWaiting(session, count, grace), graceMs);
  }
}

/** The model of requests that name none; null where the generator is to choose. */
async function defaultModel(own: OwnGenerator, session: Session): Promise<string | null> {
  const { defaultModel: model } = await termsAsked(own, session);
  return typeof model === "string" && model !== ANY_MODEL ? model : null;
}

function start(session: Session, own: OwnGenerator, { port: flag }: ServeFlags) {
  return startOnPort(flag, (port) =>
    startGenerator(own, session, {
      runs: true,
      adoptsAll: true,
      port,
      onEvent: (event) => log(eventLine(event), session),
      ...(session.options.verbose && { onRequest: (request) => log(requestLine(request), session) }),
    }),
  );
}

function sayWaiting({ console }: Session, count: number, grace: string): void {
  const tasks = counted(count, "task runs", "tasks run");
  void console.note(`${tasks}, and may take up to ${grace} more. A second signal ends at once.`);
}

/** What happens in the queue: `14:30:05 task_3f9c completed, sdxl, 1024x1024, 8.1 s, 3 waiting`. */
export function eventLine(event: ServiceEvent): LogLine {
  switch (event.kind) {
    case "ended":
      return { before: `${event.task.taskId} `, ...endOf(event) };
    case "paused":
      return { before: "", end: "waiting", meaning: "warning", after: `: ${event.detail}` };
    case "dropped":
      return {
        before: `${event.taskId} `,
        end: "left to others",
        meaning: "warning",
        after: `: ${event.why}`,
      };
  }
}

function endOf({
  task,
  state,
  ms,
  waiting,
}: Extract<ServiceEvent, { kind: "ended" }>): Omit<LogLine, "before"> {
  const images = state.name === "failed" ? [] : state.images;
  const sizes = images.map(({ width, height }) => `${width}x${height}`).join(" ");
  const facts = [task.model, sizes, formatDuration(ms), `${waiting} waiting`].filter(Boolean).join(", ");
  if (state.name === "failed") {
    const { outcome, detail } = state.failure;
    const end = outcome === "unknown" ? "outcome unknown" : "failed";
    return { end, meaning: "error", after: `, ${facts}: ${detail}` };
  }
  const failures = state.failures.map(({ detail }) => detail);
  if (failures.length === 0) return { end: "completed", meaning: "saved", after: `, ${facts}` };
  return { end: "completed", meaning: "error", after: ` in part, ${facts}: ${failures.join(" ")}` };
}
