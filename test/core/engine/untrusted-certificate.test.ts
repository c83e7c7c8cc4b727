import { beforeAll, describe, expect, it } from "vitest";
import { submitNew } from "../../../src/core/engine/begin.ts";
import { jobOfId } from "../../../src/core/engine/jobs.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { waitForTask } from "../../../src/core/polling/wait.ts";
import { batchWorld } from "../../support/batch-world.ts";
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
  it("at the submit", async () => {
    const { deps, events, clock, destination } = await taskWorld((await untrusted()).baseUrl);
    const checked = { request: { prompt: "a fox", model: "z-image" }, credits: 1, warnings: [] };
    const report = await submitNew({ checked, destination, wait: null }, deps);
    expect(report).toMatchObject({ state: "not_sent", error: { type: "network" } });
    expect(events).toEqual([{ type: "submitting" }]);
    expect(clock.monotonicMs()).toBe(0);
  });

  it("while a task is waited for", async () => {
    const { deps, clock } = await taskWorld((await untrusted()).baseUrl);
    const job = jobOfId("task-1", "/nowhere");
    const options = { schedule: fixedSchedule(1000), timeoutMs: 180_000, ageMs: 0, pollAtOnce: true, job };
    const result = await waitForTask("task-1", options, deps);
    expect(result).toMatchObject({
      outcome: "refused",
      error: { type: "network", charged: "yes", hint: expect.stringContaining("NODE_EXTRA_CA_CERTS") },
    });
    expect(clock.monotonicMs()).toBe(0);
  });

  it("for the other rows of a batch: none of them is sent or tried again", async () => {
    const { baseUrl } = await untrusted();
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "a hare", "an owl");
    const { code, rows, summary, stderr } = await world.batchJson(["p.txt", "-m", "z-image"], {
      env: { IMGGEN_BASE_URL: baseUrl },
    });
    expect({ code, notSent: summary.notSent, rows: rows.length }).toEqual({ code: 10, notSent: 3, rows: 3 });
    expect(stderr).not.toMatch(/paused|Next try/);
  });
});
