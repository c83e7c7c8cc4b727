import { cp, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { json } from "../scripted-server.ts";
import { fileAt, type ServiceForm } from "./double.ts";

const NAME = "imggen-provider-example";
export const EXAMPLE_FOLDER = path.resolve(import.meta.dirname, "..", NAME);

/** Installs the package of the documentation as `npm install` would. @returns its folder */
export async function installExample(configFolder: string): Promise<string> {
  const folder = path.join(configFolder, "providers", "node_modules", NAME);
  await mkdir(path.dirname(folder), { recursive: true });
  await cp(EXAMPLE_FOLDER, folder, { recursive: true });
  const dependencies = { [NAME]: "^1.0.0" };
  await writeFile(path.join(configFolder, "providers", "package.json"), JSON.stringify({ dependencies }));
  return folder;
}

/** The service of the package in the documentation. */
export const EXAMPLE: ServiceForm = {
  kind: `npm:${NAME}`,
  basePath: "/v1",
  model: "fox-1",
  header: ["x-api-key", (key) => key],
  partOf({ method, target }) {
    if (method === "POST") return target.endsWith("/cancel") ? "cancel" : "submit";
    if (target.startsWith("/v1/jobs/")) return "poll";
    return target === "/v1/models" ? "models" : "file";
  },
  replies: {
    submit: (_origin, number) => json({ job: `job-${number}`, state: "waiting" }, 202),
    poll: (origin, number) => json({ state: "done", image: fileAt(origin, number), cost: 2 }),
    cancel: () => json({ state: "cancelled" }),
    models: () => json({ models: ["fox-1", "fox-2"] }),
  },
  error: (status, words, headers) => json({ error: { message: words } }, status, headers),
  ends: {
    running: { poll: () => json({ state: "working" }) },
    failed: { poll: () => json({ state: "failed", error: "out of memory" }) },
    moderated: { poll: () => json({ state: "failed", error: "the prompt is against the rules" }) },
    forgotten: { poll: () => json({ error: { message: "no such job" } }, 404) },
  },
};
