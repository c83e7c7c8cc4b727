import type { ComfyServer } from "./comfy-server.ts";

/** The checkpoint that a name means: the list has the names of files, `sd/dream.safetensors` for `dream`. */
export async function checkpointNamed(
  name: string | null,
  server: ComfyServer,
  signal: AbortSignal,
): Promise<string | null> {
  if (name === null) return null;
  const names = await server.checkpoints(signal).catch((error) => {
    signal.throwIfAborted();
    if (error instanceof Error) return null;
    throw error;
  });
  if (names === null || names.includes(name)) return name;
  const [only, ...others] = names.filter((each) => plain(each) === plain(name));
  // One that is not in the list may be a model of another kind: the server knows.
  return only !== undefined && others.length === 0 ? only : name;
}

function plain(name: string): string {
  return name
    .replace(/^.*[\\/]/, "")
    .replace(/\.(?:safetensors|ckpt|gguf|sft|pth?)$/i, "")
    .toLowerCase();
}
