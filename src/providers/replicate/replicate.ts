import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import { imagesIn } from "../found-images.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import { type Fields, isFailedState, type Polls, wordsOf } from "../polls.ts";
import type { PolledState, Provider } from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { type Form, isJobId, jobIn, modelNamed, serviceProvider } from "../service.ts";
import { inputFor } from "./input.ts";
import { MODEL_NAME, modelInputs, submitPath, versionOf } from "./model-inputs.ts";

/** Replicate: a request is a prediction, whose inputs differ by model. */
export function replicateProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer(setup, deps);
  return serviceProvider(setup, server, formOf(server, deps), deps);
}

function formOf(server: ProviderServer, deps: ProviderDeps): Form {
  const urlOf = (id: string) => server.ownUrl(isJobId(id) ? server.urlBelow(`/predictions/${id}`) : id);
  const idIn = ({ id, urls }: Fields) => {
    if (!isJobId(id)) return null;
    // The key does not go to another host. The id is enough.
    const url = server.ownUrl(fieldsOf(urls).get);
    return url === null || url.href === urlOf(id)?.href ? id : url.href;
  };
  return {
    check: modelNamed(MODEL_NAME, "Replicate is named owner/name or owner/name:version"),
    async request(job, context) {
      const model = job.options.model ?? "";
      const allowed = await modelInputs(model, server, { ...deps, ...context });
      const input = await inputFor(job, allowed, context);
      const version = versionOf(model);
      return { path: submitPath(model), body: { ...(version !== null && { version }), input } };
    },
    read: (reply) => jobIn(reply, idIn),
    poll: (id, getState, polls) => getState(urlOf(id), (said) => stateOf(said, polls)),
    async cancelAt(id, signal) {
      const url = urlOf(id);
      if (url === null) return null;
      const { urls } = fieldsOf(jsonOrNull((await server.get(url, signal)).body));
      const at = server.ownUrl(fieldsOf(urls).cancel ?? `${url.href}/cancel`);
      return at && { method: "POST", url: at };
    },
  };
}

function stateOf(said: Fields, polls: Polls): PolledState | null {
  const { status, output, error, metrics } = said;
  switch (status) {
    case "starting":
    case "processing":
    case "queued":
      return { status: "running", word: status };
    case "succeeded":
      return polls.finished(imagesIn(output), metrics, said);
    default:
      return isFailedState(status) ? polls.failed(wordsOf(error) ?? status) : null;
  }
}
