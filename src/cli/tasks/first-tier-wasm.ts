import { setFlagsFromString } from "node:v8";

/**
 * Has V8 run WebAssembly as it first compiles it. The HTTP library parses replies with it; V8 would spend a tenth of a
 * second of another thread on making that faster, and Node 20 does not exit before it is done. A command parses a few
 * hundred replies, which takes less than that either way. For the whole process: a matter of the program, not of its
 * library.
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
