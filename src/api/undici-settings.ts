import type { Dispatcher } from "undici";
import type { OutgoingRequest } from "./exchange.ts";

/** How every dispatcher of ours is set. Our own timers rule: undici's tick once a second, and count differently. */
export const DISPATCHER = { headersTimeout: 0, bodyTimeout: 0 };

/** A request as undici takes it. */
export function dispatchOptions({
  url,
  ownConnection,
  ...request
}: OutgoingRequest): Dispatcher.DispatchOptions {
  return { ...request, origin: url.origin, path: `${url.pathname}${url.search}`, reset: ownConnection };
}
