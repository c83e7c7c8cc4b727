import { CONNECT_TIMEOUT_MS, TRY_ADDRESSES } from "./connect.ts";

/** How every dispatcher of ours is set. Our own timers rule: undici's tick once a second, and count differently. */
export const DISPATCHER = { headersTimeout: 0, bodyTimeout: 0 };
/** How undici makes every connection of ours. */
export const CONNECTION = { timeout: CONNECT_TIMEOUT_MS, ...TRY_ADDRESSES };
