import { describe, expect, it, onTestFinished } from "vitest";
import { HttpClient } from "../../src/api/client.ts";
import { proxyFor } from "../../src/api/proxies.ts";
import { liveServer } from "../support/live-server.ts";
import { response } from "../support/scripted-server.ts";
import { replies } from "../support/scripts.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";

const PROXIES = { http: "http://plain:1", https: "http://secure:2", except: "" };
const to = (url: string, proxies = PROXIES) => proxyFor(new URL(url), proxies);

describe("the proxy of a connection", () => {
  it("is the one of the URL's scheme, or none", () => {
    expect(to("http://a.example/")).toBe("http://plain:1");
    expect(to("https://a.example/")).toBe("http://secure:2");
    expect(to("https://a.example/", { ...PROXIES, https: "" })).toBeNull();
    expect(proxyFor(new URL("https://a.example/"), undefined)).toBeNull();
  });

  it.each([
    ["a.example", true],
    ["b.example, a.example", true],
    ["b.example a.example", true],
    ["example", true],
    [".example", true],
    ["*.example", true],
    ["A.EXAMPLE", true],
    ["a.example:443", true],
    ["*", true],
    ["a.example:8443", false],
    ["ample", false],
    ["b.a.example", false],
    ["", false],
  ])("with NO_PROXY=%j leaves out https://a.example: %s", (except, isDirect) => {
    expect(to("https://a.example/api", { ...PROXIES, except })).toBe(isDirect ? null : "http://secure:2");
  });

  it.each(["", "127.0.0.1", "127.0.0.1:PORT", "127.0.0.1:1", "0.0.1", "*", "*.0.0.1", "localhost"])(
    "with NO_PROXY=%j is the one that requests go through",
    async (pattern) => {
      const server = await liveServer(replies(response(200, "hello")));
      const proxy = await tunnelProxy("tunnel");
      const except = pattern.replace("PORT", String(server.port));
      const proxies = { http: proxy.url, https: "", except };
      const http = new HttpClient({ proxies });
      onTestFinished(() => http.close());
      const url = new URL(server.baseUrl);
      await http.send({ method: "GET", url }, { onHead() {}, onData() {} });
      expect(proxyFor(url, proxies)).toBe(proxy.heads.length > 0 ? proxy.url : null);
    },
  );
});
