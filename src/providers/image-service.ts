import type { ProviderDeps } from "./deps.ts";
import type { ProviderServer } from "./http.ts";
import type { ServiceRequest } from "./job-service.ts";
import type { ServerSetup } from "./kind.ts";
import { jsonBody } from "./post-body.ts";
import type { Job, Provider, SubmitHow } from "./provider.ts";
import { type ReferenceDeps, shownContext } from "./reference-files.ts";
import type { StoredReply } from "./reply-file.ts";
import { type ReplyForm, ServerReplies } from "./server-replies.ts";

/** How one service is asked for an image, and answers with it. */
export interface ImageForm extends ReplyForm {
  check: NonNullable<Provider["check"]>;
  /** @throws ProviderError where it has no place for what is asked */
  request(job: Job, context: ReferenceDeps): Promise<ServiceRequest>;
  /** Runs while a request is under way. Default: only the request itself. @param send sends it */
  around?(send: () => Promise<StoredReply>, how: SubmitHow): Promise<StoredReply>;
}

/** A service that answers a request with its image. */
export function imageService(
  { url, options }: ServerSetup,
  server: ProviderServer,
  form: ImageForm,
  deps: ProviderDeps,
): Provider {
  const replies = new ServerReplies(server, form, deps.clock);
  const generatorUrl = new URL(url);
  return {
    version: 1,
    limits: { concurrency: options.concurrency, submitMs: options.timeoutMs },
    check: form.check,
    submit: (job, how) =>
      replies.submit(job, how, async (sending) => {
        const { path, body } = await form.request(job, { ...deps, generatorUrl, signal: how.signal });
        const send = () => server.post(path, jsonBody(body), job, sending);
        return form.around ? form.around(send, sending) : send();
      }),
    async describe(job) {
      const { path, body } = await form.request(job, shownContext(deps, generatorUrl));
      return server.shown(path, body);
    },
    recover: (job) => replies.recover(job),
    images: (job) => replies.images(job),
    models: (signal) => replies.models(signal),
    close: () => server.close(),
  };
}
