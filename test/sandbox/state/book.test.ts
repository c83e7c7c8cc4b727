import { appendFile, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { AccountBook } from "../../../src/sandbox/state/book.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function accountFile(): Promise<string> {
  return path.join(await temporaryFolder(), "account.jsonl");
}

it("an account starts with what it is opened with, and each charge is taken from it", async () => {
  const book = new AccountBook(await accountFile(), 10);
  expect(await book.balance()).toBe(10);
  expect(await book.charge(8, "first")).toBe(2);
  expect(await book.charge(3, "second")).toBeNull();
  expect(await book.charge(2, "third")).toBe(0);
  expect(await book.balance()).toBe(0);
});

it("an account that is open already keeps what it was opened with", async () => {
  const file = await accountFile();
  await new AccountBook(file, 10).charge(4, "first");
  expect(await new AccountBook(file, 500).balance()).toBe(6);
});

it("a balance that is set holds, whatever was spent before", async () => {
  const file = await accountFile();
  const book = new AccountBook(file, 10);
  await book.charge(10, "first");
  await new AccountBook(file, 10).setBalance(3);
  expect(await book.balance()).toBe(3);
});

it("books that spend from one file at the same time never spend more than there is", async () => {
  const file = await accountFile();
  const books = Array.from({ length: 5 }, () => new AccountBook(file, 100));
  const charges = Array.from({ length: 200 }, (_, index) => books[index % 5]?.charge(3, `charge ${index}`));
  const paid = (await Promise.all(charges)).filter((left) => left !== null);
  expect(paid).toHaveLength(33);
  expect(await Promise.all(books.map((book) => book.balance()))).toEqual([1, 1, 1, 1, 1]);
  expect(await new AccountBook(file, 100).balance()).toBe(1);
});

it("a line that a full disk cut short swallows no later one", async () => {
  const file = await accountFile();
  const book = new AccountBook(file, 10);
  await book.charge(1, "first");
  await appendFile(file, '{"charged":5,"fo');
  expect(await book.charge(2, "second")).toBe(7);
  expect(await new AccountBook(file, 10).balance()).toBe(7);
});

it("an account's file is its owner's alone, and a line a charge", async () => {
  const file = await accountFile();
  await new AccountBook(file, 10).charge(2, "task_1");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, "utf8")).toBe('{"opened":10}\n{"charged":2,"for":"task_1"}\n');
});
