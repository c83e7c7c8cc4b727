import type { Graph } from "./graph.ts";

/** The classic text-to-image workflow for a checkpoint: for who gives none, and no more. */
export const CLASSIC: Graph = new Map([
  ["1", { class_type: "CheckpointLoaderSimple", inputs: { ckpt_name: "{model}" } }],
  ["2", { class_type: "CLIPTextEncode", inputs: { text: "{prompt}", clip: ["1", 1] } }],
  ["3", { class_type: "CLIPTextEncode", inputs: { text: "{negative}", clip: ["1", 1] } }],
  ["4", { class_type: "EmptyLatentImage", inputs: { width: "{width}", height: "{height}", batch_size: 1 } }],
  [
    "5",
    {
      class_type: "KSampler",
      inputs: {
        seed: "{seed}",
        steps: 20,
        cfg: 8,
        sampler_name: "euler",
        scheduler: "normal",
        denoise: 1,
        model: ["1", 0],
        positive: ["2", 0],
        negative: ["3", 0],
        latent_image: ["4", 0],
      },
    },
  ],
  ["6", { class_type: "VAEDecode", inputs: { samples: ["5", 0], vae: ["1", 2] } }],
  ["7", { class_type: "SaveImage", inputs: { filename_prefix: "imggen", images: ["6", 0] } }],
]);
