/** @type {import("imggen/provider").ProviderPackage} */
export default {
  version: 1,
  title: "Example",
  url: "https://api.images.example/v1",
  keyVariables: ["EXAMPLE_API_KEY"],
  keyHeaders: (key) => ({ "x-api-key": key }),
  isPaid: true,
  settings: ["steps"],
  fieldNames: { seed: "seed" },

  create: ({ fetch }) => ({
    check: ({ images }) => (images.length > 1 ? "Example takes one reference image." : null),

    request: ({ prompt, model, width, height, images, fields }) => ({
      path: "/jobs",
      body: { prompt, model, size: { width, height }, image: images[0], ...fields },
    }),

    read: (reply) => (typeof reply.job === "string" ? { id: reply.job } : null),

    async poll(id, { fetch }) {
      const job = await (await fetch(`/jobs/${id}`)).json();
      if (job.state === "done") return { status: "done", urls: [job.image], usage: { cost: job.cost } };
      if (job.state === "failed") return { status: "failed", why: job.error };
      return { status: "running" };
    },

    cancel: (id) => ({ method: "POST", path: `/jobs/${id}/cancel` }),

    async models() {
      const { models } = await (await fetch("/models")).json();
      return models;
    },
  }),
};
