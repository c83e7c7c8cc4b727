import { describe, expect, it } from "vitest";
import { workflow } from "../../support/comfyui.ts";
import { steppedClock } from "../../support/fake-clock.ts";
import { PICTURE } from "../../support/images.ts";
import { pause, until } from "../../support/wait.ts";
import { ALONE, polling } from "../job.ts";
import { comfyWorld, type WorldOptions } from "./comfy-world.ts";

/** A world with a job that the server has taken. */
async function taken(options: WorldOptions = {}) {
  const world = await comfyWorld({ isHeld: true, graph: workflow(), ...options });
  const { job, reply } = await world.submit();
  if (reply.outcome !== "accepted") throw new Error(JSON.stringify(reply));
  const { taskId } = reply;
  return {
    ...world,
    taskId,
    poll: async (isPaid = false) => world.provider.poll?.(taskId, await polling({ job: { ...job, isPaid } })),
    cancel: () => world.provider.cancel?.(taskId, ALONE.signal),
  };
}

const state = (task: object) => ({ outcome: "state", task });

describe("polling a job", () => {
  it("says how many are before it, that it runs, and where its image is", async () => {
    const { poll, double, provider, submit } = await taken();
    const waiting = { status: "running", providerState: "queued", isWaiting: true };
    expect(await poll()).toEqual(state({ ...waiting, ahead: 0 }));
    const later = await submit({ index: 1 });
    const id = later.reply.outcome === "accepted" ? later.reply.taskId : "";
    double.begin();
    expect(await provider.poll?.(id, await polling())).toEqual(state({ ...waiting, ahead: 1 }));
    expect(await poll()).toEqual(state({ status: "running", providerState: "running", ahead: 0 }));
    double.release();
    const url = `${double.url}/view?filename=imggen_00001_.png&subfolder=&type=output`;
    expect(await poll()).toEqual(state({ status: "completed", urls: [url] }));
  });

  it("gives every image of the output node, so that the others are counted", async () => {
    const { poll, double } = await taken({ images: 3 });
    double.release();
    expect((await poll()) as unknown).toMatchObject(
      state({ urls: [/1/, /2/, /3/].map((n) => expect.stringMatching(n)) }),
    );
  });

  it("takes what a node has made that has no images, such as a video", async () => {
    const { poll, double } = await taken();
    double.release();
    const id = double.submits[0]?.prompt_id ?? "";
    const gifs = [{ filename: "fox.mp4", subfolder: "", type: "output", format: "video/h264-mp4" }];
    const entry = { outputs: { "9": { text: ["a fox"], gifs } }, status: { status_str: "success" } };
    double.instead.set("history", { [id]: entry });
    expect(await poll()).toMatchObject(state({ urls: [expect.stringMatching(/filename=fox\.mp4/)] }));
  });

  it("takes an image that is kept before one that is only shown", async () => {
    const preview = { class_type: "PreviewImage", inputs: { images: ["8", 0] } };
    const { poll, double } = await taken({ graph: workflow({ "2": preview }) });
    double.release();
    expect(await poll()).toMatchObject(state({ urls: [expect.stringMatching(/type=output/)] }));
    const only = await taken({ graph: workflow({ "2": preview, "9": null }) });
    only.double.release();
    expect(await only.poll()).toMatchObject(state({ urls: [expect.stringMatching(/type=temp/)] }));
  });

  it("takes the image of the node with the title output", async () => {
    const save = { class_type: "SaveImage", inputs: { images: ["8", 0] }, _meta: { title: "Output" } };
    const { poll, double } = await taken({ graph: workflow({ "95": save }) });
    double.release();
    expect(await poll()).toMatchObject(state({ urls: [expect.stringMatching(/00002/)] }));
  });

  it("says which node failed, and why", async () => {
    const { poll, double } = await taken({ fails: { node: "3", message: "CUDA out of memory.\n  at x" } });
    double.release();
    const why = 'The node "KSampler" (3) of class KSampler failed: CUDA out of memory. at x.';
    expect(await poll()).toEqual(state({ status: "failed", errorCode: null, why }));
  });

  it("says of a job that the server has forgotten that it is missing, however long, and never that it has ended", async () => {
    const clock = steppedClock();
    const { poll, double } = await taken({ clock });
    double.restart();
    const why = expect.stringMatching(/no longer has the job: the server was restarted/);
    expect(await poll()).toMatchObject({ outcome: "retry", isMissing: true, why });
    clock.advance(60_000);
    expect(await poll()).toMatchObject({ outcome: "retry", isMissing: true, why });
  });

  it.each([
    ["queue", { error: "busy" }],
    ["queue", []],
    ["history", []],
    ["history", null],
  ])("does not take a %s that is %j for one without the job", async (route, reply) => {
    const { poll, double } = await taken();
    double.instead.set(route, reply);
    expect(await poll()).toMatchObject({ outcome: "retry" });
    double.instead.clear();
    double.release();
    expect(await poll()).toMatchObject(state({ status: "completed" }));
  });

  it.each([400, 404, 410, 500])(
    "ends no job because of HTTP %i, which is no answer of ComfyUI's, and names one that is paid for as missing",
    async (status) => {
      const { poll, double } = await taken();
      double.statuses.set("history", status);
      const free = await poll();
      expect(free).toMatchObject({ outcome: "retry" });
      expect(free).not.toHaveProperty("isMissing");
      expect(await poll(true)).toMatchObject({ outcome: "retry", isMissing: true });
    },
  );

  it("says nothing of a job where the server does not answer", async () => {
    const { poll, double } = await taken();
    double.cuts = () => true;
    const reply = await poll();
    expect(reply).toMatchObject({ outcome: "retry", why: expect.stringMatching(/could not be reached/) });
    expect(reply).not.toHaveProperty("isMissing");
  });

  it("is answered from the server's cache where the same is asked for again, with the image that is there", async () => {
    const { submit, double, provider } = await comfyWorld({ graph: workflow() });
    const urls: unknown[] = [];
    for (const taskId of ["task_1", "task_2"]) {
      const { reply } = await submit({ taskId, fields: { seed: 7 } });
      await pause(20);
      const polled = await provider.poll?.(reply.outcome === "accepted" ? reply.taskId : "", await polling());
      urls.push(polled?.outcome === "state" && polled.task.status === "completed" && polled.task.urls);
    }
    expect(urls[0]).toEqual(urls[1]);
    expect(double.worked).toBe(1);
  });
});

describe("cancelling a job", () => {
  it("takes one that waits out of the queue, and cannot end one that has ended or is not known", async () => {
    const { cancel, poll, double } = await taken();
    expect(await cancel()).toBe(true);
    double.release();
    expect(await poll()).toMatchObject(state({ status: "failed" }));
    expect(double.worked).toBe(0);
    expect(await cancel()).toBe(false);
    double.restart();
    expect(await cancel()).toBe(false);
  });

  it("interrupts the one that runs, and no other", async () => {
    const { cancel, poll, double, taskId } = await taken();
    double.begin();
    expect(await cancel()).toBe(true);
    const interrupts = double.requests.filter(({ target }) => target === "/interrupt");
    expect(interrupts.map(({ body }) => JSON.parse(body))).toEqual([{ prompt_id: taskId }]);
    expect(await poll()).toMatchObject(state({ status: "failed", why: "It was cancelled at the server." }));
  });

  it("cannot end one that has made its image", async () => {
    const { cancel, double } = await taken();
    double.release();
    expect(await cancel()).toBe(false);
  });

  it("gets no answer where there is no server", async () => {
    const { cancel, double } = await taken();
    double.cuts = () => true;
    expect(await cancel()).toBeNull();
  });
});

const OF_SIGMAS = { SamplerCustom: {}, SplitSigmas: {}, BasicScheduler: {}, PrimitiveInt: {} };

const isOpening = ({ target }: { target: string }) => target.startsWith("/ws?");

const closeTo = (value: number) => expect.closeTo(value, 8);

/** A world with a job that runs and is followed. */
async function followed(options: WorldOptions = {}) {
  const world = await taken(options);
  const { provider, taskId, double } = world;
  double.begin();
  const shares: number[] = [];
  const previews: Buffer[] = [];
  const onProgress = (share: number) => shares.push(share);
  const onPreview = (image: Buffer) => previews.push(image);
  const following = provider.follow?.(taskId, { ...ALONE, onProgress, onPreview });
  await until(() => double.clients().length > 0);
  const say = (type: string, data: object) => double.say(taskId, type, { prompt_id: taskId, ...data });
  return { ...world, shares, previews, say, following };
}

describe("following a job", () => {
  it("says the share of its work that is done, a sampler's in steps, by the messages to its own client", async () => {
    const { shares, say, double, taskId, following } = await followed({ options: { key: "secret-key" } });
    expect(double.clients()).toEqual([taskId]);
    const opening = double.requests.at(-1);
    expect(opening?.headers).toMatchObject({ authorization: "Bearer secret-key" });
    expect(opening?.headers).not.toHaveProperty("origin");
    say("execution_cached", { nodes: ["4"] });
    say("executing", { node: "5" });
    say("executing", { node: "3" });
    say("progress_state", { nodes: { "3": { value: 10, max: 20, state: "running" } } });
    say("progress", { node: "3", value: 5, max: 20 });
    double.say(taskId, "executed", { prompt_id: "another", node: "9" });
    say("progress_state", {
      nodes: { "3": { value: 20, max: 20, state: "finished" }, x: { value: 1, max: 1 } },
    });
    say("executing", { node: "8" });
    say("progress", { node: "8", value: 32, max: 64 });
    say("execution_success", {});
    await following;
    expect(shares.map((share) => share * 26)).toEqual([1, 2, 12, 22, 22.5].map(closeTo));
  });

  it("weighs samplers by the steps that their inputs, or those of their schedulers, name", async () => {
    const graph = workflow({
      "3": { class_type: "SamplerCustom", inputs: { steps: null, sigmas: ["10", 0] } },
      "10": { class_type: "SplitSigmas", inputs: { step: 4, sigmas: ["11", 1] } },
      "11": { class_type: "BasicScheduler", inputs: { steps: ["12", 0] } },
      "12": { class_type: "PrimitiveInt", inputs: { value: 30 } },
      "13": { class_type: "SamplerCustom", inputs: { latent_image: ["3", 0] } },
    });
    const { shares, say, following } = await followed({ graph, classes: OF_SIGMAS });
    say("execution_cached", { nodes: ["4", "5", "6", "7", "10", "11", "12"] });
    say("executing", { node: "3" });
    say("progress", { node: "3", value: 15, max: 30 });
    say("execution_success", {});
    await following;
    // 9 nodes of one step, 30 of the first sampler, and 20 of one that does not tell.
    expect(shares.map((share) => share * 59)).toEqual([7, 22].map(closeTo));
  });

  it("takes a sampler's own count of its steps for truer, goes back for nothing, and stays between 0 and 1", async () => {
    const graph = workflow({ "3": { inputs: { steps: 1e300 } } });
    const { shares, say, following } = await followed({ graph });
    say("execution_cached", { nodes: ["4", "5"] });
    say("progress", { node: "3", value: 1, max: 4 });
    say("progress", { node: "3", value: 2, max: 40 });
    say("progress", { node: "3", value: -5, max: 4 });
    say("progress", { node: "3", value: 9, max: 0 });
    say("progress", { node: "3", value: 1e9, max: 4 });
    say("execution_success", {});
    await following;
    expect(shares).toEqual([2 / 10_006, 3 / 10, 6 / 10].map(closeTo));
  });

  it("opens a connection that was cut once more, goes on from its share, and loses no job", async () => {
    const { shares, say, double, taskId, following, poll } = await followed();
    say("progress", { node: "3", value: 5, max: 20 });
    await expect.poll(() => shares).toHaveLength(1);
    double.cutOff(taskId);
    await expect.poll(() => double.requests.filter(isOpening)).toHaveLength(2);
    say("progress", { node: "3", value: 2, max: 20 });
    say("progress", { node: "3", value: 10, max: 20 });
    await expect.poll(() => shares).toHaveLength(2);
    expect(shares.map((share) => share * 26)).toEqual([5, 10].map(closeTo));
    double.cutOff(taskId);
    expect(await following).toBe(false);
    expect(double.requests.filter(isOpening)).toHaveLength(2);
    double.release();
    expect(await poll()).toMatchObject(state({ status: "completed" }));
  });

  it("that has ended while its connection was cut says so", async () => {
    const { double, taskId, following } = await followed();
    double.release();
    double.cutOff(taskId);
    expect(await following).toBe(true);
    expect(double.requests.filter(isOpening)).toHaveLength(1);
  });

  it("hands over the image as it is so far, and no other message that is no text", async () => {
    const { taskId, double, say, previews, following } = await followed();
    const message = (kind: number) => Buffer.concat([Buffer.from([0, 0, 0, kind, 0, 0, 0, 2]), PICTURE]);
    for (const bytes of [message(1), message(2), Buffer.alloc(0), Buffer.from([0, 0, 0, 1]), message(1)])
      double.sayBytes(taskId, bytes);
    say("execution_success", {});
    await following;
    expect(previews).toEqual([PICTURE, PICTURE]);
  });

  it("ends with its signal, and says nothing of a job that has ended", async () => {
    const { provider, taskId, double } = await taken();
    const over = new AbortController();
    const following = provider.follow?.(taskId, { signal: over.signal, onProgress: () => {} });
    await until(() => double.clients().length > 0);
    over.abort();
    await following;
    double.release();
    await provider.follow?.(taskId, ALONE);
    await until(() => double.clients().length === 0);
  });
});

describe("what a workflow is worth", () => {
  it("is nothing at an own server, and is asked of it once", async () => {
    const { prepare, double } = await comfyWorld({ graph: workflow() });
    const free = { isPaid: false, workflow: expect.stringMatching(/^[\da-f]{64}$/) };
    for (let time = 0; time < 2; time++) expect(await prepare()).toMatchObject(free);
    const encode = ["CLIPTextEncode", "CheckpointLoaderSimple", "EmptyLatentImage"];
    const classes = [...encode, "KSampler", "SaveImage", "VAEDecode"];
    const asked = double.requests.map(({ target }) => target).sort();
    expect(asked).toEqual(classes.map((name) => `/object_info/${name}`));
  });

  it("is money where one of its nodes has the work done elsewhere", async () => {
    const graph = workflow({ "12": { class_type: "FluxProNode", inputs: { prompt: "x", seed: 1 } } });
    const { prepare } = await comfyWorld({ graph, classes: { FluxProNode: { api_node: true } } });
    expect(await prepare()).toMatchObject({ isPaid: true });
  });

  it("is refused where several nodes save images and none has the title output", async () => {
    const save = { class_type: "SaveImage", inputs: { images: ["8", 0] }, _meta: { title: "Mask" } };
    const several = await comfyWorld({ graph: workflow({ "10": save }) });
    await expect(several.prepare()).rejects.toThrow(
      'The workflow has 2 nodes that save images: "Save Image" (9), "Mask" (10). In ComfyUI, give only the right node the title "output", and export the workflow again.',
    );
    const titled = await comfyWorld({ graph: workflow({ "10": { ...save, _meta: { title: "output" } } }) });
    expect(await titled.prepare()).toMatchObject({ isPaid: false });
    const none = await comfyWorld({ graph: workflow({ "9": null }) });
    await expect(none.prepare()).rejects.toThrow(/no node that saves an image/);
  });

  it("is refused where the server lacks a class of its nodes", async () => {
    const fancy = { class_type: "Fancy Node", inputs: {}, _meta: { title: "Fancy" } };
    const { prepare, double } = await comfyWorld({ graph: workflow({ "10": fancy }) });
    await expect(prepare()).rejects.toThrow(
      `The workflow has nodes of classes that ${double.host} does not have: "Fancy" (10) of Fancy Node.`,
    );
  });

  it("lists the checkpoints as models", async () => {
    const { provider } = await comfyWorld({ checkpoints: ["a.ckpt", "b/c.safetensors"] });
    expect(await provider.models?.(ALONE.signal)).toEqual(["a.ckpt", "b/c.safetensors"]);
  });
});
