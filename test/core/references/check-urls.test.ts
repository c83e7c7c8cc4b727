import { expect, it } from "vitest";
import { signedUntilMs } from "../../../src/core/references/check-urls.ts";

const HOST = "https://bucket.example/fox.png";

it.each([
  ["S3 and R2", "X-Amz-Date=20261122T124500Z&X-Amz-Expires=3600&X-Amz-Signature=ab", "2026-11-22T13:45:00Z"],
  ["Google", "X-Goog-Date=20261122T124500Z&X-Goog-Expires=60", "2026-11-22T12:46:00Z"],
  ["CloudFront", "Expires=1795351500&Signature=ab", "2026-11-22T12:45:00Z"],
  ["Azure", "se=2026-11-22T12%3A45%3A00Z&sig=ab", "2026-11-22T12:45:00Z"],
])("a URL signed for %s says until when it is valid", (_who, query, until) => {
  expect(new Date(signedUntilMs(`${HOST}?${query}`) ?? 0)).toEqual(new Date(until));
});

it.each([
  "",
  "?v=3",
  "?X-Amz-Expires=3600",
  "?X-Amz-Date=today&X-Amz-Expires=60",
  "?expires=never",
  "?se=2026",
])("a URL with the query %j says nothing of that", (query) => {
  expect(signedUntilMs(HOST + query)).toBeNull();
});
