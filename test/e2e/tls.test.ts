import { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { selfSigned, trusting } from "../support/certificate.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { programWorld } from "../support/program-world.ts";
import { success } from "../support/scripted-server.ts";
import { QUICK } from "../support/shell.ts";

it("each submit of a batch has a connection of its own, which resumes the TLS session of the one before", async () => {
  const certificate = selfSigned("localhost");
  const resumed: boolean[] = [];
  const server = await liveService(
    PICTURE,
    {
      submit: (_request, socket) => {
        resumed.push(socket instanceof TLSSocket && socket.isSessionReused());
        socket.write(success({ taskId: `task-${resumed.length}` }));
      },
    },
    certificate,
  );
  const world = await programWorld(server);
  const manifest = await world.manifest(["a fox", "an owl", "a hare"]);
  const args = ["batch", manifest, "-m", "gamma-image-2", "--concurrency", "1", "--yes", ...QUICK];
  expect((await world.run(args, { env: trusting(certificate, world.folder) })).code).toBe(0);
  expect(resumed).toEqual([false, true, true]);
});
