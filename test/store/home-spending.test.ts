import path from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { HomeSpending, serversFolder } from "../../src/store/home-spending.ts";
import { Ledger } from "../../src/store/ledger.ts";
import type { Intent } from "../../src/task/intent.ts";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const intent = (credits: number): Intent => ({
  request: { prompt: "a fox", model: "m" },
  service: { baseUrl: "openai", keyId: "key" },
  credits,
  destination: { kind: "file", path: "/x", overwrite: false },
});

it("what commands and servers of one home have spent is added up, whenever a server comes", async () => {
  const folder = await temporaryFolder();
  const processes = someProcesses(1).as(1);
  const own = new Ledger(folder, systemClock, processes);
  const spending = new HomeSpending(folder, own);
  const at = (name: string) => new Ledger(path.join(serversFolder(folder), name), systemClock, processes);
  expect(await spending.creditsSince(0, "key")).toBe(0);
  (await own.begin(intent(1))).file.close();
  (await at("a").begin(intent(2))).file.close();
  expect(await spending.creditsSince(0, "key")).toBe(3);
  (await at("b").begin(intent(4))).file.close();
  expect(await spending.creditsSince(0, "key")).toBe(7);
  expect(await spending.recountCreditsSince(0, "key")).toBe(7);
  expect(await spending.creditsSince(0, "another key")).toBe(0);
});
