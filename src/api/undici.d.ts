// undici's entry point loads its fetch, caches and mocks too, which takes longer than all of imggen.
// This is the file of it that a request needs.
declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";
  export default Agent;
}
