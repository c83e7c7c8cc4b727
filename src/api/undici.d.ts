// These files are imported instead of undici's entry point, because the entry point also loads fetch, caches and mocks.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}

declare module "undici/lib/web/websocket/websocket.js" {
  import type { WebSocket } from "undici";

  const exports: { WebSocket: typeof WebSocket };
  export default exports;
}
