import { expect, it } from "vitest";
import { answers } from "../support/doubles/double.ts";
import { FAL } from "../support/doubles/fal.ts";

import { liveServer } from "../support/live-server.ts";
import { json, response } from "../support/scripted-server.ts";
import { DATA_REFERENCE } from "./job.ts";
import { KEY, serviceWorld } from "./service-world.ts";

it("asks a model by its whole path for an image of a size, with its key", async () => {
  const { double, submit, bodies } = await serviceWorld(FAL);
  const fields = { seed: 7, num_inference_steps: 4 };
  const { reply } = await submit({ width: 1024, height: 576, fields });
  expect(reply).toEqual({ outcome: "accepted", taskId: `${double.origin}/fal-ai/flux/requests/req-1` });
  const headers = { authorization: `Key ${KEY}` };
  expect(double.submits()).toMatchObject([{ target: "/fal-ai/flux/dev", headers }]);
  expect(bodies()).toEqual([{ prompt: "a red fox", image_size: { width: 1024, height: 576 }, ...fields }]);
});

it("sends a reference image, with a size only where one was asked for", async () => {
  const { submit, bodies } = await serviceWorld(FAL);
  await submit({ references: [DATA_REFERENCE] });
  await submit({ references: [DATA_REFERENCE, DATA_REFERENCE], ratio: "1:1", width: 64, height: 64 });
  await submit({ references: [DATA_REFERENCE], model: "fal-ai/nano-banana/edit" });
  expect(bodies()).toEqual([
    { prompt: "a red fox", image_url: DATA_REFERENCE.url },
    {
      prompt: "a red fox",
      image_size: { width: 64, height: 64 },
      image_urls: [DATA_REFERENCE.url, DATA_REFERENCE.url],
    },
    { prompt: "a red fox", image_urls: [DATA_REFERENCE.url] },
  ]);
});

it("asks for the result once the job is completed, and not before", async () => {
  const script = { poll: answers(FAL.ends?.running.poll ?? (() => json({}))) };
  const running = await serviceWorld(FAL, script);
  expect(await running.state(await running.accepted())).toEqual({
    status: "running",
    providerState: "IN_PROGRESS",
  });
  expect(running.double.asked("result")).toEqual([]);
  const { accepted, state, double } = await serviceWorld(FAL);
  expect(await state(await accepted())).toEqual({
    status: "completed",
    urls: [`${double.origin}/files/image-1.png?signature=s3cret`],
    usage: { inference_time: 2.5 },
  });
  expect(double.requests.slice(1).map(({ target }) => target)).toEqual([
    "/fal-ai/flux/requests/req-1/status",
    "/fal-ai/flux/requests/req-1",
  ]);
});

it("reads a result of one image", async () => {
  const { accepted, state } = await serviceWorld(FAL, {
    result: json({ image: { url: "https://v3.fal.media/x.png" } }),
  });
  expect(await state(await accepted())).toMatchObject({ urls: ["https://v3.fal.media/x.png"] });
});

it.each([
  [{ has_nsfw_concepts: [false, true] }, true],
  [{ images: [{ url: "https://a.example/1.png", is_nsfw: true }] }, true],
  [{ has_nsfw_concepts: [false] }, false],
  [{ nsfw: null }, false],
])("warns of an image that is marked as not safe for work: %j is %s", async (flags, isMarked) => {
  const said = { images: [{ url: "https://a.example/1.png" }], ...flags };
  const { accepted, state } = await serviceWorld(FAL, { result: json(said) });
  const warnings = [expect.stringContaining("not safe for work")];
  expect(await state(await accepted())).toMatchObject({ status: "completed", ...(isMarked && { warnings }) });
  if (!isMarked) expect(await state(await accepted())).not.toHaveProperty("warnings");
});

it("records all three addresses of a job where they do not follow from one", async () => {
  const { accepted, state, double, cancel } = await serviceWorld(FAL, {
    submit: answers((origin) =>
      json({
        request_id: "abc",
        response_url: `${origin}/a/requests/abc/response`,
        status_url: `${origin}/a/requests/abc/status`,
        cancel_url: `${origin}/a/requests/abc/cancel`,
      }),
    ),
  });
  const id = await accepted();
  await state(id);
  expect(await cancel(id)).toBe(true);
  expect(double.requests.slice(1).map(({ method, target }) => `${method} ${target}`)).toEqual([
    "GET /a/requests/abc/status",
    "GET /a/requests/abc/response",
    "PUT /a/requests/abc/cancel",
  ]);
});

it("takes a job whose address for cancelling is another server's, to which the key does not go", async () => {
  const { accepted, cancel, double } = await serviceWorld(FAL, {
    submit: answers((origin) => {
      const at = `${origin}/a/requests/abc`;
      const cancel_url = "https://evil.example/cancel";
      return json({ request_id: "abc", response_url: at, status_url: `${at}/status`, cancel_url });
    }),
  });
  expect(await cancel(await accepted())).toBeNull();
  expect(double.asked("cancel")).toEqual([]);
});

it.each([
  ["fal-ai/flux/dev", "fal-ai/flux"],
  ["owner/app", "owner/app"],
  ["workflows/owner/app/step", "workflows/owner/app"],
])(
  "asks for a job of %s whose addresses are another server's by its id, and never there",
  async (model, app) => {
    const other = await liveServer(json({ status: "COMPLETED" }));
    const elsewhere = `${other.origin}/requests/abc`;
    const named = { response_url: elsewhere, status_url: `${elsewhere}/status`, cancel_url: 7 };
    for (const urls of [named, { response_url: null, status_url: "" }, {}]) {
      const { accepted, state, double } = await serviceWorld(FAL, {
        submit: json({ request_id: "abc", ...urls }),
      });
      expect(await state(await accepted({ model }))).toMatchObject({ status: "completed" });
      expect(double.requests.slice(1).map(({ target }) => target)).toEqual([
        `/${app}/requests/abc/status`,
        `/${app}/requests/abc`,
      ]);
    }
    expect(other.requests).toEqual([]);
  },
);

it("uses that of two addresses that is its own", async () => {
  const status_url = "https://evil.example/requests/abc/status";
  const { accepted } = await serviceWorld(FAL, {
    submit: answers((origin) =>
      json({ request_id: "abc", response_url: `${origin}/a/requests/abc`, status_url }),
    ),
  });
  expect(await accepted()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\/requests\/abc$/);
});

it.each([
  [500, { detail: [{ msg: "out of memory" }] }, "says: HTTP 500: out of memory."],
  [400, { detail: "no such size" }, "says: HTTP 400: no such size."],
  [422, { detail: [{ loc: ["body", "prompt"], msg: "flagged" }] }, "says: HTTP 422: body.prompt: flagged."],
])("ends a job whose result is an error, %j", async (status, body, why) => {
  const { accepted, state } = await serviceWorld(FAL, { result: json(body, status) });
  expect(await state(await accepted())).toEqual({
    status: "failed",
    errorCode: null,
    why: expect.stringContaining(why),
  });
});

it.each([
  [500, response(500, "<html>Oops</html>")],
  [500, json({ detail: "out of memory" }, 500)],
  [422, response(422, "<html>Oops</html>")],
  [400, json({ message: "Bad Request" }, 400)],
  [404, json({ detail: "not here" }, 404)],
  [200, response(200, "<html>Oops</html>")],
  [200, response(200, "")],
  [200, json({})],
  [502, json({ detail: "busy" }, 502)],
  [503, json({ detail: "busy" }, 503)],
  [504, json({ detail: "busy" }, 504)],
  [429, json({ detail: "busy" }, 429)],
])("ends no job because of %s of a server before fal", async (status, reply) => {
  const { accepted, poll } = await serviceWorld(FAL, { result: reply });
  expect(await poll(await accepted())).toMatchObject({
    outcome: "retry",
    ...(status === 429 ? { rateLimited: true } : { rateLimited: false, isMissing: true }),
  });
});

it.each([null, "flux", "../x/y", "fal-ai/flux?x"])("is refused for a model %j", async (model) => {
  const { provider } = await serviceWorld(FAL);
  const options = { model, width: 64, height: 64, sizeForm: null, fields: {} };
  const request = { prompt: "a fox", model: "m" };
  expect(provider.check?.({ request, isPaid: true, options, references: [] })).toMatch(/fal-ai\/flux\/dev/);
});
