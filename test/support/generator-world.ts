import { commandWorld, NO_ACCOUNT } from "./command-world.ts";
import { png } from "./images.ts";
import { liveServer } from "./live-server.ts";
import { type Answer, type Behaviour, response, toBehaviour } from "./scripted-server.ts";
import { replies } from "./scripts.ts";

/** An OpenAI-compatible generator on loopback, and commands that use it. */
export type GeneratorWorld = Awaited<ReturnType<typeof generatorWorld>>;

/**
 * A world whose commands have a generator by `IMGGEN_GENERATOR`; no key is set.
 * @param generate answers requests for an image. Default: with one
 * @param models the reply to a request for its models. Default: it has one, flux
 */
export async function generatorWorld(generate: Answer = makesImage, models: Buffer = MODELS) {
  const generator = await liveServer((request, socket) =>
    request.method === "POST" ? toBehaviour(generate)(request, socket) : void socket.write(models),
  );
  const world = await commandWorld({}, { IMGGEN_GENERATOR: generator.origin, ...NO_ACCOUNT });
  return {
    ...world,
    generator,
    /** Another service than the generator, which is configured too: nothing may reach it. */
    service: world.server,
    /** The prompts of all requests for an image, in their order. */
    prompts: (): string[] => generator.submits().map(({ body }) => JSON.parse(body).prompt),
  };
}

const MODELS = modelList("flux");

/** The reply with the names of a generator's models. */
export function modelList(...ids: string[]): Buffer {
  return response(200, JSON.stringify({ data: ids.map((id) => ({ id })) }));
}

const BODY = JSON.stringify({
  created: 1,
  data: [{ b64_json: png().toString("base64") }],
  usage: { total_tokens: 12 },
});

/** The reply with an image, and what it took. */
export const makesImage = replies(response(200, BODY));

/** The same as it is kept on disk. */
export const IMAGE_REPLY = Buffer.from(
  `${JSON.stringify({ status: 200, headers: { "content-length": `${BODY.length}` } })}\n${BODY}`,
);

/** A refusal as OpenAI writes it. */
export function refuses(status: number, code: string, message = "no"): Behaviour {
  return replies(response(status, JSON.stringify({ error: { message, type: "error", code } })));
}
