import { beforeAll, describe, expect, it } from "vitest";
import { createIdJob } from "../../../src/core/engine/jobs.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { waitForTask } from "../../../src/core/polling/wait.ts";
import { type Certificate, selfSigned } from "../../support/certificate.ts";
import { PICTURE } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { taskWorld } from "../../support/task-world.ts";

let certificate: Certificate;
beforeAll(() => {
  certificate = selfSigned("localhost");
});

const untrusted = () => liveService(PICTURE, {}, certificate);

describe("a certificate that is not accepted is no reason to try again", () => {
  it("while a task is waited for", async () => {
    const { deps, clock } = await taskWorld((await untrusted()).baseUrl);
    const job = createIdJob("task-1", "/nowhere");
    const options = { schedule: fixedSchedule(1000), timeoutMs: 180_000, ageMs: 0, pollAtOnce: true, job };
    const result = await waitForTask("task-1", options, deps);
    expect(result).toMatchObject({
      outcome: "refused",
      error: { type: "network", charged: "yes", hint: expect.stringContaining("NODE_EXTRA_CA_CERTS") },
    });
    expect(clock.monotonicMs()).toBe(0);
  });
});
