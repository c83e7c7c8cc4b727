import { describeConnectionError } from "../../api/connection-errors.ts";
import { NetworkError, ServiceError } from "../../api/errors.ts";
import type { PolledState } from "../../api/schema.ts";
import type { FailedPoll } from "../../api/service.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import type { TaskDeps } from "../deps.ts";

/** Polls a task once, without a retry. @throws if there is no usable answer, with what is known of the charge */
export async function pollOnce(
  taskId: string,
  charged: Charged,
  deps: Pick<TaskDeps, "connection" | "signal">,
): Promise<PolledState> {
  const reply = await deps.connection.service.poll(taskId, undefined, deps.signal);
  deps.signal.throwIfAborted();
  if (reply.outcome === "state") return reply.task;
  throw reply.outcome === "refused" ? reply.error : unseen(reply, charged, deps.connection.serviceUrl);
}

/** The error of a poll that has no usable answer. */
export function unseen({ connectionError, why }: FailedPoll, charged: Charged, service: URL): ImggenError {
  if (connectionError === null)
    return new ServiceError(`The service gave no usable answer: ${why}.`, { charged });
  const next = "The task itself is not affected. Check the network and try again.";
  const { message, hint } = describeConnectionError(connectionError, service, next);
  return new NetworkError(message, { hint, charged, cause: connectionError });
}
