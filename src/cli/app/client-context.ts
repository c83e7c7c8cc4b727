import type { ClientContext } from "../../client/context.ts";
import { FLAG_NAMES } from "../../lib/wording.ts";
import { traceOf } from "../output/text.ts";
import type { Session } from "./session.ts";

/** Runs that were told of a subject that the sandbox's painter does not know. Of a batch, one is enough. */
const told = new WeakSet<Session>();

/** What a command's tasks stand on. */
export function clientContext(session: Session): ClientContext {
  const { settings, options } = session;
  const { env, fileMode, resolvePath, clock, processes, random, drawPicture } = session.context;
  const { folders } = session;
  const isSandbox = options.sandbox === true;
  const onExchange = traceOf(session);
  const onRefill = (credits: number) =>
    void session.console.note(`The sandbox had too few credits left, and was refilled to ${credits}.`);
  return {
    env,
    fileMode,
    resolvePath,
    clock,
    processes,
    random,
    folders,
    settings,
    optionNames: FLAG_NAMES,
    isSandbox,
    drawPicture,
    onExchange,
    onRefill,
    onUnknownSubject(noun) {
      if (told.has(session)) return;
      told.add(session);
      void session.console.note(`The sandbox's painter does not know "${noun}".`);
    },
  };
}
