import { describe, expect, it } from "vitest";
import { redactAddress, refuseQuerySecret } from "../../src/lib/query-secret.ts";
import { words } from "../support/words.ts";

const refuse = (url: string) => () => refuseQuerySecret(url, "--base-url", "Use a header.");

describe("a key in an address's query", () => {
  it.each(
    words(`key api_key apikey api-key apiKey token access_token accessToken sig signature
    X-Amz-Signature secret client_secret password pwd subscription-key code %6Bey KEY`),
  )("is refused, and neither told nor shown: %s", (name) => {
    for (const url of [
      `https://a.example/api?${name}=hush`,
      `https://a.example/?v=1&${name}=hush#x`,
      `a?${name}=hush`,
    ]) {
      expect(refuse(url)).toThrow(`--base-url has a key in its query (${name}=…)`);
      expect(refuse(url)).toThrow(expect.objectContaining({ hint: "Nothing was sent. Use a header." }));
      expect(refuse(url)).not.toThrow("hush");
      expect(redactAddress(url)).not.toContain("hush");
    }
  });

  it.each(
    words(`https://a.example/api https://a.example/v1?api-version=2025-04-01
    https://a.example/v1?keyboard=1&design=2 https://a.example/key=1/v1
    openai:https://a.example/v1?api-version=1`),
  )("is not what %s holds", (url) => {
    expect(refuse(url)).not.toThrow();
  });

  it("is shown under no name, and a command as it stands", () => {
    expect(redactAddress("openai:https://a.example/v1?zone=hush")).toBe("openai:https://a.example/v1?…");
    expect(redactAddress("command:paint --size? {prompt}")).toBe("command:paint --size? {prompt}");
  });
});
