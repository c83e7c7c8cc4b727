import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8 from optimizing WebAssembly, which the HTTP library parses replies with. Optimizing it takes a tenth of a
 * second of another thread, and Node 20 does not exit before that is done; parsing the few hundred replies of a command
 * takes less than that either way. It concerns the whole process, so the program does it and not its library.
 */
export function keepFirstTierWasm(): void {
  // Bun and Deno have the function, and other engines or no such flags behind it.
  try {
    // Not --no-wasm-tier-up: without tiers V8 compiles every function at once, not those alone that are called.
    setFlagsFromString("--wasm-tiering-budget=2147483647");
  } catch {
    // Only slower.
  }
}
