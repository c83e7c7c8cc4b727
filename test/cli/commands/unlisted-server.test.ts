import { expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { liveServer } from "../../support/live-server.ts";
import { json } from "../../support/scripted-server.ts";

it("a server of imggen that does not say whether its images are free is no free one: no cap passes them", async () => {
  const server = await liveServer(
    (request, socket) =>
      void socket.write(
        request.method === "POST" ? json({ code: 0, data: { taskId: "task_1" } }) : json({}, 500),
      ),
  );
  const env = { IMGGEN_BASE_URL: `${server.origin}/api`, IMGGEN_API_KEY: "sk-serve-1" };
  const world = await commandWorld({}, env);
  const { code, document } = await world.json(["generate", "a fox", "--max-credits", "5"]);
  expect([code, document.error?.type]).toEqual([2, "budget_exceeded"]);
  const paths = server.requests.map(({ method, target }) => `${method} ${target}`);
  expect(new Set(paths)).toEqual(new Set(["GET /v1/models"]));
  expect((await world.json(["generate", "a fox", "--dry-run"])).document.credits).toBeNull();
  expect(server.requests).toHaveLength(paths.length);
});
