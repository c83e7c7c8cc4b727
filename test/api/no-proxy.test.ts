import { describe, expect, it } from "vitest";
import { parseNoProxy } from "../../src/api/no-proxy.ts";

const covers = (text: string, url: string) => parseNoProxy(text).covers(new URL(url));

describe("NO_PROXY covers", () => {
  it.each([
    ["a.example", "https://a.example/"],
    ["b.example, a.example", "https://a.example/"],
    ["b.example a.example", "https://a.example/"],
    ["b.example;a.example", "https://a.example/"],
    [" \ta.example\n", "https://a.example/"],
    ["example", "https://a.example/"],
    [".example", "https://a.example/"],
    [".a.example", "https://a.example/"],
    ["*.example", "https://a.example/"],
    ["A.EXAMPLE", "https://a.example/"],
    ["a.example.", "https://a.example/"],
    ["a.example", "https://a.example./"],
    ["a.example:443", "https://a.example/"],
    [".example:8443", "https://a.example:8443/"],
    ["*", "https://a.example/"],
    ["b.example, *", "https://a.example/"],
    ["a*.exa*", "https://a1.example/"],
    ["b\u00fccher.example", "https://xn--bcher-kva.example/"],
    ["10.1.2.3", "http://10.1.2.3/"],
    ["10.1.2.3:81", "http://10.1.2.3:81/"],
    ["10.0.0.0/8", "http://10.1.2.3/"],
    ["10.*", "http://10.1.2.3/"],
    ["10.0.0.0/8", "http://[::ffff:10.1.2.3]/"],
    ["fd00::/8", "http://[fd12::1]/"],
    ["[fd00::]/8", "http://[fd12::1]/"],
    ["2001:db8::1", "http://[2001:db8::1]/"],
    ["[2001:db8::1]", "http://[2001:db8::1]/"],
    ["2001:DB8:0::1", "http://[2001:db8::1]/"],
    ["[2001:db8::1]:81", "http://[2001:db8::1]:81/"],
  ])("with %j %s", (text, url) => {
    expect(covers(text, url)).toBe(true);
    expect(parseNoProxy(text).unknown).toEqual([]);
  });
});

describe("NO_PROXY does not cover", () => {
  it.each([
    ["", "https://a.example/"],
    [" , ,", "https://a.example/"],
    ["a.example:8443", "https://a.example/"],
    ["a.example:443", "http://a.example/"],
    ["ample", "https://a.example/"],
    ["b.a.example", "https://a.example/"],
    ["a.ex.mple", "https://a.example/"],
    ["2.3", "http://10.1.2.3.example/"],
    ["10.0.0.0/8", "http://11.1.2.3/"],
    ["10.0.0.0/8", "http://10.example/"],
    ["fd00::/8", "http://[fe80::1]/"],
    ["[2001:db8::1]:81", "http://[2001:db8::1]/"],
  ])("with %j %s", (text, url) => {
    expect(covers(text, url)).toBe(false);
  });
});

it("what is not understood in NO_PROXY is known, and the rest counts", () => {
  const text = "http://b.example 10.0.0.0/33 10.0.0.0/255.0.0.0 fd00::/129 a/8 <local> [::1 a.example";
  const { covers, unknown } = parseNoProxy(text);
  expect(unknown).toEqual(text.split(" ").slice(0, -1));
  expect(covers(new URL("https://a.example"))).toBe(true);
});
