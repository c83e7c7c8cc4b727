// undici's entry point loads its fetch, caches and mocks too, which takes longer than all of imggen.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}
