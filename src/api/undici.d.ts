// Imported in parts, because undici's entry point also loads its fetch, caches and mocks, which takes longer than imggen.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}

declare module "undici/lib/web/websocket/websocket.js" {
  import type { WebSocket } from "undici";

  const exports: { WebSocket: typeof WebSocket };
  export default exports;
}
