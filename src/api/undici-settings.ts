import type { Dispatcher } from "undici";
import type { Exchange, OutgoingRequest } from "./exchange.ts";
import type { Flow } from "./transport.ts";

/** How every dispatcher of ours is set. Our own timers rule: undici's tick once a second, and count differently. */
export const DISPATCHER = { headersTimeout: 0, bodyTimeout: 0 };

/** undici hands them on as they are, to the client whose connection is chosen. */
export interface DispatchOptions extends Dispatcher.DispatchOptions {
  /** Called with what holds that connection back. */
  onFlow?: (flow: Flow) => void;
}

/** A request as undici takes it. */
export function dispatchOptions(
  { url, ownConnection, ...request }: OutgoingRequest,
  exchange: Exchange,
): DispatchOptions {
  const target = { origin: url.origin, path: `${url.pathname}${url.search}` };
  return { ...request, ...target, reset: ownConnection, onFlow: (flow) => exchange.pauseBy(flow) };
}
