import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { toJobId } from "../../../src/providers/comfyui/submit-job.ts";
import { workflow } from "../../support/comfyui.ts";
import { PICTURE, sha256 } from "../../support/images.ts";
import { pause, until } from "../../support/wait.ts";
import { ALONE, fileReference, OPTIONS, told } from "../job.ts";
import { comfyWorld } from "./comfy-world.ts";

const LOAD = { class_type: "LoadImage", inputs: { image: "example.png" } };
const titled = (title: string) => ({ ...LOAD, _meta: { title } });

const ROUTES = ({ requests }: { requests: { method: string; target: string }[] }) =>
  requests.map(({ method, target }) => `${method} ${target}`);

describe("submitting a job to ComfyUI", () => {
  it("sends the classic workflow for a checkpoint where none is given, and nothing else", async () => {
    const { submit, double } = await comfyWorld();
    const { job, reply } = await submit({ model: "dream", fields: { seed: 7, steps: 4 } });
    const id = toJobId(job);
    expect(reply).toEqual({ outcome: "accepted", taskId: id });
    expect(ROUTES(double)).toEqual([
      "GET /queue",
      `GET /history/${id}`,
      "GET /models/checkpoints",
      "POST /prompt",
    ]);
    expect(double.submits).toEqual([
      {
        prompt_id: id,
        client_id: id,
        prompt: {
          "1": { class_type: "CheckpointLoaderSimple", inputs: { ckpt_name: "dream.safetensors" } },
          "2": { class_type: "CLIPTextEncode", inputs: { text: "a red fox", clip: ["1", 1] } },
          "3": { class_type: "CLIPTextEncode", inputs: { text: "", clip: ["1", 1] } },
          "4": { class_type: "EmptyLatentImage", inputs: { width: 64, height: 48, batch_size: 1 } },
          "5": {
            class_type: "KSampler",
            inputs: {
              seed: 7,
              steps: 4,
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
          "6": { class_type: "VAEDecode", inputs: { samples: ["5", 0], vae: ["1", 2] } },
          "7": { class_type: "SaveImage", inputs: { filename_prefix: "imggen", images: ["6", 0] } },
        },
      },
    ]);
    const { headers } = double.requests.at(-1) ?? { headers: {} };
    expect(headers).not.toHaveProperty("origin");
    expect(headers).not.toHaveProperty("authorization");
  });

  it("makes an id of its own from the task's, which the server takes, and which differs with each image", async () => {
    const ids = [0, 1].map((index) => toJobId({ taskId: "task_1", index }));
    expect(new Set(ids).size).toBe(2);
    for (const id of ids)
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(toJobId({ taskId: "task_1", index: 0 })).toBe(ids[0]);
  });

  it("refuses what the classic workflow has no place for, before anything is sent", async () => {
    const { problem, double } = await comfyWorld();
    expect(await problem({ model: null })).toMatch(/needs a model: the name of a checkpoint/);
    expect(await problem({ model: "dream", references: [{ url: "https://example.com/a.png" }] })).toMatch(
      /Without a workflow, a ComfyUI server does not support reference images/,
    );
    expect(double.requests).toEqual([]);
  });

  it("gives a key and headers to a proxy before the server", async () => {
    const { submit, double } = await comfyWorld({ options: { key: "ada:secret", headers: { "x-a": "b" } } });
    await submit({ model: "dream" });
    const given = { authorization: "Basic YWRhOnNlY3JldA==", "x-a": "b" };
    for (const { headers } of double.requests) expect(headers).toMatchObject(given);
  });

  it("uploads reference images, under names made of their digests", async () => {
    const { submit, double, sent } = await comfyWorld({ graph: workflow({ "10": LOAD }) });
    expect(await submit({ references: [await fileReference()] })).toMatchObject({ what: "accepted" });
    const name = `${sha256(PICTURE)}.png`;
    expect(double.uploads).toEqual([name]);
    const upload = double.requests.find(({ target }) => target === "/upload/image");
    expect(upload?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(upload?.body).toMatch(/name="subfolder"\r\n\r\nimggen\r\n.*name="overwrite"\r\n\r\ntrue\r\n/s);
    expect(sent("10")).toEqual({ image: `imggen/${name}` });
  });

  it.each([
    [{}, 1, expect.stringMatching(/no input for image\./)],
    [
      { "10": LOAD, "11": LOAD },
      1,
      expect.stringMatching(/2 possible inputs for image: .*\(10\)\.image, .*\(11\)\.image/),
    ],
    [{ "10": titled("image"), "11": titled("image2") }, 2, null],
  ])(
    "refuses reference images that the workflow has no certain places for: %j",
    async (nodes, count, problem) => {
      const world = await comfyWorld({ graph: workflow(nodes) });
      const references = Array(count).fill({ url: "https://example.com/a.png" });
      expect(await world.problem({ references })).toEqual(problem);
    },
  );

  it("shows the server's refusal as node, input and reason", async () => {
    const { submit, double } = await comfyWorld({ checkpoints: ["dream.safetensors"] });
    const message = `${double.host} refused the workflow: "CheckpointLoaderSimple" (1), ckpt_name: 'night' not in ["dream.safetensors"].`;
    expect(await submit({ model: "night" })).toMatchObject({ what: "invalid_request", message });
  });

  it("shows a refusal that names no node in the server's words", async () => {
    const { submit } = await comfyWorld({ graph: workflow({ "9": { class_type: "Missing" } }) });
    const message = expect.stringMatching(/class_type property/);
    expect(await submit()).toMatchObject({ what: "invalid_request", message });
  });

  it("sends nothing where the server cannot be reached, or is none of ComfyUI's", async () => {
    const down = await comfyWorld();
    down.double.cuts = () => true;
    expect(await down.submit({ model: "dream" })).toMatchObject({ what: "not_sent" });
    expect(down.double.submits).toEqual([]);
  });
});

describe("a job whose reply is lost", () => {
  /** The server is restarted by the job that it is sent. */
  const forgets = (double: { restart(): void }) => (_method: string, target: string) => {
    if (target === "/prompt") double.restart();
    return target === "/prompt";
  };
  it("is found at the server, and is not sent again; a note on the disk was there before it was sent", async () => {
    const { submit, double } = await comfyWorld({ isHeld: true });
    double.cuts = (_method, target) => target === "/prompt";
    const { job, reply } = await submit({ model: "dream" });
    expect(reply).toEqual({ outcome: "accepted", taskId: toJobId(job) });
    expect(double.submits.length).toBe(1);
    expect(await readFile(path.join(job.folder, ".job"), "utf8")).toBe(toJobId(job));
  });

  it("is not sent again by a later process that did not read the reply", async () => {
    const { submit, provider, double } = await comfyWorld({ isHeld: true });
    const { job, reply } = await submit({ model: "dream" });
    expect(await provider.submit(job, ALONE)).toEqual(reply);
    double.release();
    expect(await provider.submit(job, ALONE)).toEqual(reply);
    expect(double.submits.length).toBe(1);
  });

  it("can be asked for later where the server cannot be reached now", async () => {
    const { submit, double } = await comfyWorld();
    let isGone = false;
    double.cuts = (_method, target) => {
      isGone ||= target === "/prompt";
      return isGone;
    };
    const { reply } = await submit({ model: "dream" });
    expect(reply).toMatchObject({ outcome: "unknown", isAskable: true });
  });

  it("is found where it arrives late, behind a proxy that broke off", async () => {
    const { submit, double } = await comfyWorld({ isHeld: true });
    const queue = { queue_running: [], queue_pending: [] };
    double.cuts = (_method, target) => {
      if (target !== "/prompt") return false;
      double.instead.set("queue", queue);
      setTimeout(() => double.instead.delete("queue"), 500);
      return true;
    };
    const { job, reply } = await submit({ model: "dream" });
    expect(reply).toEqual({ outcome: "accepted", taskId: toJobId(job) });
    expect(double.submits.length).toBe(1);
  });

  it("is looked for by a later process where this one is stopped before that is certain", async () => {
    const { job, provider, double } = await comfyWorld();
    double.cuts = forgets(double);
    const stop = new AbortController();
    const asked = provider.submit(await job({ model: "dream" }), { ...ALONE, signal: stop.signal });
    await until(() => double.requests.some(({ target }) => target === "/prompt"));
    await pause(100);
    stop.abort(new Error("Ctrl-C"));
    expect(await asked).toMatchObject({ outcome: "unknown", isAskable: true });
  });

  it("is unknown once the server has said for 30 s that it does not know it", async () => {
    const { submit, double } = await comfyWorld({ isHeld: true });
    double.cuts = forgets(double);
    const { reply } = await submit({ model: "dream" });
    expect(reply).toMatchObject({ outcome: "unknown" });
    expect(reply).not.toHaveProperty("isAskable");
  });
});

describe("recovering a job whose process ended", () => {
  it("finds it in the queue, at work, and in the history", async () => {
    const { submit, provider, double } = await comfyWorld({ isHeld: true });
    const { job } = await submit({ model: "dream" });
    const accepted = { outcome: "accepted", taskId: toJobId(job) };
    expect(await provider.recover?.(job, ALONE)).toEqual(accepted);
    double.begin();
    expect(await provider.recover?.(job, ALONE)).toEqual(accepted);
    double.release();
    expect(await provider.recover?.(job, ALONE)).toEqual(accepted);
  });

  it("knows nothing of one that the server does not know, and concludes nothing where it cannot be asked", async () => {
    const { job, provider, double } = await comfyWorld();
    expect(await provider.recover?.(await job({ model: "dream" }), ALONE)).toBeNull();
    double.cuts = () => true;
    const why = expect.stringMatching(/could not be reached/);
    const reply = await provider.recover?.(await job({ model: "dream" }), ALONE);
    expect(reply).toMatchObject({ outcome: "unknown", isAskable: true, why });
  });

  it("does not need the workflow's own file", async () => {
    const { job, open, folder, double, sent } = await comfyWorld({ graph: workflow() });
    const made = await job();
    await writeFile(path.join(folder, "fox.json"), "{}");
    const other = await open({ ...OPTIONS, workflow: undefined });
    expect(told(await other.submit(made, ALONE)).what).toBe("accepted");
    expect(sent("6")).toMatchObject({ text: "a red fox" });
    expect(await readFile(path.join(folder, "workflows", `${made.options.workflow}.json`), "utf8")).toContain(
      "KSampler",
    );
    expect(double.submits.length).toBe(1);
  });
});

describe("numbers beyond 2^53", () => {
  const LONG = "18446744073709551615";
  const written = (graph: object) => JSON.stringify(graph).replaceAll(`"@${LONG}"`, LONG);

  it("of a workflow are sent as they are written, and its copy has them too", async () => {
    const graph = workflow();
    Object.assign(graph["3"]?.inputs ?? {}, { limit: `@${LONG}` });
    const { folder, double, submit } = await comfyWorld({ graph: written(graph) });
    expect((await submit()).reply.outcome).toBe("accepted");
    expect(double.requests.at(-1)?.body).toContain(`"limit":${LONG}`);
    const [copy = ""] = await readdir(path.join(folder, "workflows"));
    expect(await readFile(path.join(folder, "workflows", copy), "utf8")).toContain(`"limit":${LONG}`);
  });

  it("are a seed in its place, and one that a workflow has is found there", async () => {
    const graph = workflow();
    const text = written(graph).replace(/"(noise_)?seed":\d+/, (found) => found.replace(/\d+$/, LONG));
    expect(text).toContain(LONG);
    const { double, submit } = await comfyWorld({ graph: text });
    expect((await submit({ fields: { seed: "18446744073709551614" } })).reply.outcome).toBe("accepted");
    expect(double.requests.at(-1)?.body).toContain('seed":18446744073709551614');
    expect(double.requests.at(-1)?.body).not.toContain(LONG);
  });
});
