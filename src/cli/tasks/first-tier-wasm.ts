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
    setFlagsFromString("--no-wasm-tier-up");
    setFlagsFromString("--no-wasm-dynamic-tiering");
  } catch {
    // Only slower.
  }
}
