// undici's entry point loads its fetch, caches and mocks too, which takes longer than all of imggen.
// These are the files of it that a request needs.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}

declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export default Client;
}

declare module "undici/lib/core/connect.js" {
  import { buildConnector } from "undici";
  export default buildConnector;
}

declare module "undici/lib/dispatcher/env-http-proxy-agent.js" {
  import { EnvHttpProxyAgent } from "undici";
  export default EnvHttpProxyAgent;
}

declare module "undici/lib/api/api-connect.js" {
  import { Dispatcher } from "undici";

  const connect: Dispatcher["connect"];
  export default connect;
}
