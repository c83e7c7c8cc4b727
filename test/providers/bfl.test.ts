import { expect, it } from "vitest";
import { BFL } from "../support/doubles/bfl.ts";
import { PICTURE } from "../support/images.ts";
import { json } from "../support/scripted-server.ts";
import { DATA_REFERENCE } from "./job.ts";
import { KEY, serviceWorld } from "./service-world.ts";

it("asks a model for an image in steps of 32 pixels, with its key", async () => {
  const { double, submit, bodies } = await serviceWorld(BFL);
  const { reply } = await submit({ width: 1024, height: 680, fields: { seed: 7 } });
  expect(reply).toEqual({ outcome: "accepted", taskId: `${double.origin}/v1/get_result?id=task-1#cost=3` });
  expect(double.submits()[0]).toMatchObject({ target: "/v1/flux-2-pro", headers: { "x-key": KEY } });
  expect(bodies()).toEqual([{ prompt: "a red fox", width: 1024, height: 672, seed: 7 }]);
});

it("tells a model that knows no pixels the ratio", async () => {
  const { submit, bodies } = await serviceWorld(BFL);
  await submit({ model: "flux-kontext-pro", ratio: "16:9" });
  await submit({ model: "flux-kontext-pro" });
  expect(bodies()).toEqual([{ prompt: "a red fox", aspect_ratio: "16:9" }, { prompt: "a red fox" }]);
});

it("sends reference images in base64", async () => {
  const { submit, bodies } = await serviceWorld(BFL);
  await submit({ model: "flux-kontext-pro", references: [DATA_REFERENCE, DATA_REFERENCE] });
  const data = PICTURE.toString("base64");
  expect(bodies()).toEqual([{ prompt: "a red fox", input_image: data, input_image_2: data }]);
});

it("is polled at the address that it gave; the price that it named is the image's usage", async () => {
  const { accepted, state, double } = await serviceWorld(BFL);
  expect(await state(await accepted())).toEqual({
    status: "completed",
    urls: [`${double.origin}/files/image-1.png?signature=s3cret`],
    seeds: [7],
    usage: { cost: 3 },
  });
  expect(double.asked("poll")[0]).toMatchObject({
    target: "/v1/get_result?id=task-1",
    headers: { "x-key": KEY },
  });
});

it("is polled by its id where it gave no address, and not at all where that is elsewhere", async () => {
  const plain = await serviceWorld(BFL, { submit: json({ id: "abc" }) });
  expect(await plain.accepted()).toBe(`${plain.double.origin}/v1/get_result?id=abc`);
  const polling_url = "https://evil.example/v1/get_result?id=abc";
  const elsewhere = await serviceWorld(BFL, { submit: json({ id: "abc", polling_url }) });
  expect((await elsewhere.submit()).what).toBe("unknown");
});

it.each(["Error", "Failed", "Request Moderated", "Content Moderated"])(
  "ends a job that is %s, in these words",
  async (status) => {
    const { accepted, state } = await serviceWorld(BFL, {
      poll: json({ id: "task-1", status, result: null }),
    });
    expect(await state(await accepted())).toEqual({
      status: "failed",
      errorCode: null,
      why: expect.stringMatching(new RegExp(`says: ${status}\\.$`)),
    });
  },
);

it.each([200, 404])("ends no job that is not found, with HTTP %s", async (status) => {
  const { accepted, poll } = await serviceWorld(BFL, {
    poll: json({ id: "task-1", status: "Task not found", result: null }, status),
  });
  expect(await poll(await accepted())).toMatchObject({ outcome: "retry", isMissing: true });
});

it("cannot cancel a job, and has no list of models", async () => {
  const { provider } = await serviceWorld(BFL);
  expect(provider.cancel).toBeUndefined();
  expect(await provider.models?.(new AbortController().signal)).toBeUndefined();
});
