import { writeFile } from "node:fs/promises";
import path from "node:path";
import { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { selfSigned } from "../support/certificate.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { programWorld } from "../support/program-world.ts";
import { success } from "../support/scripted-server.ts";

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
  const authority = path.join(world.folder, "authority.pem");
  await writeFile(authority, certificate.cert);
  await writeFile(path.join(world.folder, "prompts.txt"), "a fox\nan owl\na hare\n");
  const args = [
    "batch",
    path.join(world.folder, "prompts.txt"),
    "-m",
    "gamma-image-2",
    "--concurrency",
    "1",
    "--yes",
  ];
  expect((await world.run(args, { env: { NODE_EXTRA_CA_CERTS: authority } })).code).toBe(0);
  expect(resumed).toEqual([false, true, true]);
});
