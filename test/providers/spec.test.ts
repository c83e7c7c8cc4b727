import { describe, expect, it } from "vitest";
import { isPrivateHost } from "../../src/api/address.ts";
import { UsageError } from "../../src/lib/error-types.ts";
import { canCarryKey, parseGeneratorSpec, queueKey, storedSpec } from "../../src/providers/spec.ts";
import { words } from "../support/words.ts";

const parsed = (text: string) => parseGeneratorSpec(text, "--generator");

describe("a generator as it is written", () => {
  it.each([
    ["openai", "openai", "openai", "https://api.openai.com/v1"],
    ["https://api.openai.com", "openai", "openai", "https://api.openai.com/v1"],
    ["openai:https://api.openai.com/v1/", "openai", "openai", "https://api.openai.com/v1"],
    ["http://gpubox:1234", "openai", "openai:http://gpubox:1234/v1", "http://gpubox:1234/v1"],
    [" http://gpubox:1234/ ", "openai", "openai:http://gpubox:1234/v1", "http://gpubox:1234/v1"],
    [
      "https://ada.openai.azure.com/openai/v1?api-version=preview",
      "openai",
      "openai:https://ada.openai.azure.com/openai/v1",
      "https://ada.openai.azure.com/openai/v1?api-version=preview",
    ],
    ["sdapi:http://10.0.0.7:7860", "sdapi", "sdapi:http://10.0.0.7:7860", "http://10.0.0.7:7860"],
    // What a server that listens on all interfaces prints as its address.
    ["http://0.0.0.0:7860", "openai", "openai:http://127.0.0.1:7860/v1", "http://127.0.0.1:7860/v1"],
    ["sdapi:http://[::]:7860", "sdapi", "sdapi:http://[::1]:7860", "http://[::1]:7860"],
    [
      "sdapi:HTTPS://Example.com/forge/",
      "sdapi",
      "sdapi:https://example.com/forge",
      "https://example.com/forge",
    ],
  ])("%j is %s", (text, kind, name, url) => {
    expect(parsed(text)).toEqual({ kind, name, url });
    // Only the settings have its query.
    expect(parsed(name)).toEqual({ kind, name, url: url.replace(/\?.*/, "") });
    expect(parsed(storedSpec(parseGeneratorSpec(text, "--generator")))).toEqual({ kind, name, url });
  });

  it("is a command line, whose words are the program and its arguments", () => {
    const spec = parsed("command: /bin/paint {promptFile} 'two words' {output}");
    expect(spec).toEqual({
      kind: "command",
      name: "command:/bin/paint {promptFile} 'two words' {output}",
      words: ["/bin/paint", "{promptFile}", "two words", "{output}"],
    });
    expect(parsed(spec.name)).toEqual(spec);
  });

  it.each([
    ["", "is not a generator"],
    ["comfyui", "is not a generator"],
    ["command:/bin/paint {promptFile}", "{output}"],
    ["openai:gpubox", "is not a URL"],
    ["openai:ftp://gpubox/", "http"],
    ["http://ada:secret@gpubox:7860", "user name"],
    ["http://gpubox:1234/#x", "fragment"],
    ["http://images.example.com", "https://"],
    ["http://8.8.8.8:1234", "https://"],
  ])("%j is refused", (text, why) => {
    expect(() => parsed(text)).toThrow(UsageError);
    expect(() => parsed(text)).toThrow(why);
  });

  it("that lacks only its scheme is offered with one", () => {
    expect(() => parsed("gpubox:1234")).toThrow(
      expect.objectContaining({ hint: "Did you mean http://gpubox:1234?" }),
    );
  });
});

it.each([
  ["https://example.com/v1", true],
  ["http://127.0.0.1:1234/v1", true],
  ["http://localhost:1234/v1", true],
  ["http://gpubox:1234/v1", false],
  ["http://192.168.1.2:1234/v1", false],
])("a key may be sent to %s: %s", (url, may) => {
  expect(canCarryKey({ url })).toBe(may);
});

it.each(
  words(`http://localhost:1234 http://127.0.0.1 http://[::1]:8080 http://10.0.0.7
    http://172.31.255.255 http://192.168.1.20:7860 http://169.254.1.1 http://100.100.1.2
    http://[fd12::1] http://[fe80::1] http://[::ffff:192.168.1.20] http://gpubox:1234
    http://gpubox.local http://gpubox.lan. http://GPUBOX.home.arpa http://gpu.corp.internal`),
)("%s is in a private network", (url) => {
  expect(isPrivateHost(new URL(url).hostname)).toBe(true);
});

it.each(
  words(`https://api.openai.com http://8.8.8.8 http://172.32.0.1 http://100.128.0.1
    http://[2001:4860:4860::8888] http://[::ffff:8.8.8.8] http://local.example.com
    http://gpubox.local.example`),
)("%s is not, as far as its name or address says", (url) => {
  expect(isPrivateHost(new URL(url).hostname)).toBe(false);
});

it.each([
  [
    "localhost:7860",
    [
      "http://127.0.0.1:7860",
      "sdapi:http://[::1]:7860",
      "http://LOCALHOST.:7860/v2",
      "sdapi:http://gpu.localhost:7860/",
    ],
  ],
  [
    "api.openai.com:443",
    ["openai", "https://api.openai.com:443/v1?x=1", "openai:https://API.openai.com/other"],
  ],
  ["gpubox:80", ["http://gpubox", "sdapi:http://gpubox:80/forge"]],
  [
    "command:paint {promptFile} {output}",
    ["command:paint {promptFile} {output}", "command: paint {promptFile} {output} "],
  ],
])("requests to %s take turns, however it is spelled", (place, texts) => {
  expect(texts.map((text) => queueKey(parsed(text)))).toEqual(texts.map(() => place));
});
