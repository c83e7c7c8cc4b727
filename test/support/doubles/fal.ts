import { json } from "../scripted-server.ts";
import { fileAt, type ServiceForm } from "./double.ts";

const COMPLETED = () => json({ status: "COMPLETED", metrics: { inference_time: 2.5 } });

const msg = "flagged by a content checker";
const FLAGGED = { loc: ["body", "prompt"], msg, type: "content_policy_violation" };

export const FAL: ServiceForm = {
  kind: "fal",
  basePath: "",
  model: "fal-ai/flux/dev",
  header: ["authorization", (key) => `Key ${key}`],
  partOf({ method, target }) {
    if (method === "POST") return "submit";
    if (method === "PUT") return "cancel";
    if (target.endsWith("/status")) return "poll";
    return target.includes("/requests/") ? "result" : "file";
  },
  replies: {
    // The sub-path of the model is not in these.
    submit: (origin, number) => {
      const at = `${origin}/fal-ai/flux/requests/req-${number}`;
      return json({
        request_id: `req-${number}`,
        response_url: at,
        status_url: `${at}/status`,
        cancel_url: `${at}/cancel`,
        queue_position: 0,
      });
    },
    poll: COMPLETED,
    result: (origin, number) =>
      json({
        images: [{ url: fileAt(origin, number), width: 1024, height: 768, content_type: "image/png" }],
      }),
    cancel: () => json({ status: "CANCELLATION_REQUESTED" }, 202),
  },
  error: (status, words, headers) => json({ detail: words }, status, headers),
  ends: {
    running: { poll: () => json({ status: "IN_PROGRESS" }) },
    failed: { poll: COMPLETED, result: () => json({ detail: [{ msg: "out of memory" }] }, 500) },
    moderated: {
      poll: COMPLETED,
      result: () => json({ detail: [FLAGGED] }, 422),
    },
    forgotten: { poll: () => json({ detail: "Request not found" }, 404) },
  },
};
