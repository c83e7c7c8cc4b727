import { describe, expect, it } from "vitest";
import type { GraphNode } from "../../../src/providers/comfyui/graph.ts";
import { linkedInputs } from "../../../src/providers/comfyui/node-inputs.ts";
import { workflow } from "../../support/comfyui.ts";
import { comfyWorld } from "./comfy-world.ts";

const link = (id: string) => [id, 0];

describe("what goes into a workflow", () => {
  it("finds its places by the links of the graph, and leaves the rest as it is", async () => {
    const { submit, sent } = await comfyWorld({ graph: workflow() });
    expect(await submit({ fields: { seed: 7 } })).toMatchObject({ what: "accepted" });
    expect(sent("6")).toEqual({ text: "a red fox", clip: ["4", 1] });
    expect(sent("7")).toEqual({ text: "blurry", clip: ["4", 1] });
    expect(sent("3")).toMatchObject({ seed: 7, steps: 20, cfg: 7 });
    expect(sent("5")).toEqual({ width: 64, height: 48, batch_size: 1 });
    expect(sent("4")).toEqual({ ckpt_name: "dream.safetensors" });
  });

  it("leaves the workflow's own size where none is asked for", async () => {
    const { submit, sent } = await comfyWorld({ graph: workflow() });
    await submit({ ratio: "auto", width: 1024, height: 1024 });
    expect(sent("5")).toMatchObject({ width: 512, height: 768 });
  });

  it("fills placeholders first: one alone becomes a number where it is one, one in a text is text", async () => {
    const { submit, sent } = await comfyWorld({
      graph: workflow({
        "3": { inputs: { seed: "{seed}", steps: "{steps}", cfg: "%cfg%" } },
        "5": { inputs: { width: "{width}", height: "%height%" } },
        "6": { inputs: { text: "a photo of {prompt}, {width} px, {a|b}" } },
        "7": { inputs: { text: "{negative}" } },
        "9": { inputs: { filename_prefix: "%prompt%-{seed}" } },
      }),
    });
    const fields = { seed: 7, steps: 4, cfg: 1.5 };
    expect(await submit({ prompt: "{seed} foxes", fields })).toMatchObject({ what: "accepted" });
    expect(sent("3")).toMatchObject({ seed: 7, steps: 4, cfg: 1.5 });
    expect(sent("5")).toMatchObject({ width: 64, height: 48 });
    expect(sent("6")).toMatchObject({ text: "a photo of {seed} foxes, 64 px, {a|b}" });
    expect(sent("7")).toMatchObject({ text: "" });
    expect(sent("9")).toMatchObject({ filename_prefix: "{seed} foxes-7" });
  });

  it("names a placeholder that there is no value for", async () => {
    const { problem } = await comfyWorld({ graph: workflow({ "3": { inputs: { steps: "{steps}" } } }) });
    expect(await problem()).toBe(
      'The workflow has {steps} in the node "KSampler" (3), but the request has no value for {steps}: add the field steps.',
    );
  });

  it("goes to nodes with that title, in any case, before the links are followed", async () => {
    const { submit, sent } = await comfyWorld({
      graph: workflow({
        "10": { class_type: "KSampler", inputs: { seed: 2, positive: link("6") }, _meta: { title: "Seed" } },
        "3": { _meta: { title: "seed" } },
        "7": { _meta: { title: "PROMPT" } },
      }),
    });
    expect(await submit({ fields: { seed: 7 } })).toMatchObject({ what: "accepted" });
    expect([sent("3")?.seed, sent("10")?.seed]).toEqual([7, 7]);
    expect([sent("6")?.text, sent("7")?.text]).toEqual(["a cat", "a red fox"]);
  });

  it("follows the links through other nodes, to a node that only holds a value", async () => {
    const { submit, sent } = await comfyWorld({
      graph: workflow({
        "3": { inputs: { positive: link("11"), seed: link("12"), latent_image: link("13") } },
        "6": { inputs: { text: link("14") } },
        "11": {
          class_type: "LoadImage",
          inputs: { conditioning: link("6"), positive: link("6"), image: "a.png" },
        },
        "12": { class_type: "LoadImage", inputs: { value: 3 } },
        "13": { class_type: "LoadImage", inputs: { samples: link("5") } },
        "14": { class_type: "LoadImage", inputs: { value: "a dog" } },
      }),
    });
    expect(await submit({ fields: { seed: 7 } })).toMatchObject({ what: "accepted" });
    expect([sent("14")?.value, sent("12")?.value, sent("5")?.width]).toEqual(["a red fox", 7, 64]);
  });

  it("is refused where two places are possible, with both of them and the title to set", async () => {
    const { problem, double } = await comfyWorld({
      graph: workflow({ "10": { class_type: "KSampler", inputs: { seed: 2, positive: link("6") } } }),
    });
    expect(await problem()).toBe(
      'The workflow has 2 possible inputs for seed: "KSampler" (3).seed, "KSampler" (10).seed. ' +
        'In ComfyUI, give the right node the title "seed", or write {seed} into its input, and export the workflow again.',
    );
    expect(double.requests).toEqual([]);
  });

  it("is refused where there is no certain place", async () => {
    const { problem } = await comfyWorld({ graph: workflow({ "3": { inputs: { positive: 1 } } }) });
    expect(await problem()).toMatch(
      /^The workflow has 2 possible inputs for prompt: "CLIP Text Encode \(Prompt\)" \(6\)\.text, .*\(7\)\.text\./,
    );
    const none = await comfyWorld({ graph: workflow({ "3": { inputs: { seed: link("99") } } }) });
    expect(await none.problem()).toMatch(
      /no input for seed\. In ComfyUI, give the right node the title "seed"/,
    );
  });

  it("is refused where a negative prompt would take the prompt's own node", async () => {
    const { problem } = await comfyWorld({ graph: workflow({ "3": { inputs: { negative: link("6") } } }) });
    expect(await problem({ fields: { negative: "rain" } })).toMatch(/only one input for prompt and negative/);
  });

  it("takes a negative prompt, a model and fields of the sampler", async () => {
    const { submit, sent, problem } = await comfyWorld({
      graph: workflow(),
      checkpoints: ["dream.safetensors", "sd/other.ckpt"],
    });
    await submit({ model: "other", fields: { negative_prompt: "rain", steps: 4 } });
    expect([sent("7")?.text, sent("3")?.steps, sent("4")?.ckpt_name]).toEqual(["rain", 4, "sd/other.ckpt"]);
    expect(await problem({ fields: { stepz: 4 } })).toMatch(/no input for stepz/);
    expect(await problem({ fields: { toString: 4 } })).toMatch(/no input for toString/);
  });

  it("says that a node has no inputs, if it has none", async () => {
    const { problem } = await comfyWorld({
      graph: { ...workflow(), "99": { class_type: "Note", inputs: {} } },
    });
    expect(await problem({ fields: { "99.text": "x" } })).toMatch(/ has no input text .* It has none\.$/);
  });

  it("takes fields by a node's id or title and its input", async () => {
    const { submit, sent, problem } = await comfyWorld({ graph: workflow() });
    await submit({
      fields: { "3.cfg": 2, "Load Checkpoint.ckpt_name": "dream.safetensors", "5.batch_size": 1 },
    });
    expect(sent("3")).toMatchObject({ cfg: 2 });
    expect(await problem({ fields: { "33.cfg": 2 } })).toMatch(/no node with the id or the title "33"/);
    expect(await problem({ fields: { "3.cfgs": 2 } })).toMatch(
      /"KSampler" \(3\) has no input cfgs.* It has: seed, steps/,
    );
    expect(await problem({ fields: { "3.__proto__": 2 } })).toMatch(/has no input __proto__/);
    expect(await problem({ fields: { "CLIP Text Encode (Prompt).text": "x" } })).toMatch(
      /Use an id: 6\.text or 7\.text/,
    );
  });

  it("gives each image of a task a seed of its own, and the same one again when it is made again", async () => {
    const { submit, sent } = await comfyWorld({ graph: workflow() });
    const seeds: unknown[] = [];
    for (const index of [0, 1]) {
      await submit({ index });
      seeds.push(sent("3")?.seed);
    }
    const again = await comfyWorld({ graph: workflow() });
    await again.submit({ index: 1 });
    expect(new Set(seeds).size).toBe(2);
    expect(again.sent("3")?.seed).toBe(seeds[1]);
  });

  it("is shown by a dry run, which connects to nothing", async () => {
    const { provider, job, double } = await comfyWorld({ graph: workflow() });
    const shown = await provider.describe?.(await job({ fields: { seed: 7 } }));
    expect(shown && "workflow" in shown && shown.workflow).toEqual([
      'node "CLIP Text Encode (Prompt)" (6) (CLIPTextEncode).text = "a red fox"',
      'node "KSampler" (3) (KSampler).seed = 7',
      'node "Empty Latent Image" (5) (EmptyLatentImage).width = 64',
      'node "Empty Latent Image" (5) (EmptyLatentImage).height = 48',
    ]);
    expect(double.requests).toEqual([]);
  });

  it("follows a chain of 5,000 nodes", () => {
    const chain = Array.from({ length: 4_998 }, (_, at): [string, GraphNode] => [
      `${at}`,
      { class_type: "Pass", inputs: { conditioning: [`${at + 1}`, 0], latent: [`${at + 1}`, 0] } },
    ]);
    const graph = new Map<string, GraphNode>([
      [
        "sampler",
        { class_type: "KSampler", inputs: { seed: 1, positive: link("0"), latent_image: link("0") } },
      ],
      ...chain,
      ["4998", { class_type: "Last", inputs: { text: "a cat", width: 64, height: 48 } }],
    ]);
    expect(linkedInputs(graph, "prompt")).toEqual([{ id: "4998", input: "text" }]);
    expect(linkedInputs(graph, "height")).toEqual([{ id: "4998", input: "height" }]);
  });

  it("never hangs at links that lead in a circle", async () => {
    const { problem } = await comfyWorld({
      graph: workflow({
        "3": { inputs: { positive: link("20"), latent_image: link("20") } },
        "20": { class_type: "LoadImage", inputs: { a: link("21"), samples: link("21") } },
        "21": {
          class_type: "LoadImage",
          inputs: { a: link("20"), samples: link("20"), positive: link("20") },
        },
      }),
    });
    expect(await problem()).toMatch(/prompt/);
  });
});
