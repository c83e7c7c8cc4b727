import { json } from "../scripted-server.ts";
import { fileAt, type ServiceForm } from "./double.ts";

const pending = (number: number, state: object) => json({ id: `task-${number}`, ...state });

export const BFL: ServiceForm = {
  kind: "bfl",
  basePath: "/v1",
  model: "flux-2-pro",
  header: ["x-key", (key) => key],
  partOf({ method, target }) {
    if (method === "POST") return "submit";
    return target.startsWith("/v1/get_result") ? "poll" : "file";
  },
  replies: {
    submit: (origin, number) =>
      pending(number, { polling_url: `${origin}/v1/get_result?id=task-${number}`, cost: 3 }),
    poll: (origin, number) =>
      pending(number, { status: "Ready", result: { sample: fileAt(origin, number), seed: 7 } }),
  },
  error: (status, words, headers) => json({ detail: words }, status, headers),
  ends: {
    running: { poll: (_origin, number) => pending(number, { status: "Pending", result: null }) },
    failed: { poll: (_origin, number) => pending(number, { status: "Error", details: "out of memory" }) },
    moderated: { poll: (_origin, number) => pending(number, { status: "Content Moderated", result: null }) },
    forgotten: { poll: (_origin, number) => pending(number, { status: "Task not found" }) },
  },
};
