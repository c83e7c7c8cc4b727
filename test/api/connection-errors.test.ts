import { describe, expect, it } from "vitest";
import {
  connectionErrorText,
  describeConnectionError,
  isOfThisProcess,
} from "../../src/api/connection-errors.ts";
import { ProxyError } from "../../src/api/proxies.ts";
import { TransportError } from "../../src/api/transport.ts";
import { words } from "../support/words.ts";

const SERVICE = new URL("https://api.example:8443/api");

function broken(code: string): TransportError {
  const cause = Object.assign(new Error(`oh no: ${code}`), { code });
  return new TransportError("fetch failed", { wasSent: false, cause });
}

describe("a connection error in words", () => {
  it.each([
    ["ECONNREFUSED", "the connection was refused"],
    ["ECONNRESET", "the connection was cut"],
    ["ENOTFOUND", "its name could not be found"],
    ["EAI_AGAIN", "its name could not be looked up"],
    ["EHOSTUNREACH", "the host is unreachable"],
    ["ENETUNREACH", "the network is unreachable"],
    ["UND_ERR_CONNECT_TIMEOUT", "the connection timed out"],
  ])("says of %s that %s", (code, words) => {
    const { message, hint } = describeConnectionError(broken(code), SERVICE);
    expect(message).toBe(`The service at api.example:8443 could not be reached: ${words}.`);
    expect(hint).toContain("Nothing was sent");
  });

  it.each(
    words(`DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE
    CERT_HAS_EXPIRED ERR_TLS_CERT_ALTNAME_INVALID`),
  )("names NODE_EXTRA_CA_CERTS for %s, and no insecure way", (code) => {
    const { message, hint } = describeConnectionError(broken(code), SERVICE);
    expect(message).toContain(code);
    expect(hint).toContain("NODE_EXTRA_CA_CERTS");
    expect(hint).not.toMatch(/insecure|REJECT_UNAUTHORIZED/i);
  });

  it.each([
    ["CERT_HAS_EXPIRED", "its certificate has expired", "this machine's clock"],
    ["CERT_NOT_YET_VALID", "its certificate is not valid yet", "this machine's clock"],
    [
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "its certificate is for another host",
      "that the base URL leads to the service",
    ],
    [
      "ERR_SSL_WRONG_VERSION_NUMBER",
      "it does not use TLS",
      "that the base URL and its port lead to the service",
    ],
  ])("says of %s that %s, and to check %s", (code, what, toCheck) => {
    const { message, hint } = describeConnectionError(broken(code), SERVICE);
    expect(message).toBe(`No trusted connection to api.example:8443: ${what} (${code}).`);
    expect(hint).toContain(`Check ${toCheck}`);
    expect(hint.split("\n").length).toBeLessThanOrEqual(2);
  });

  it("names an error of TLS by its code alone: OpenSSL's messages are lines of numbers", () => {
    const code = "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED";
    const cause = Object.assign(new Error("80AC017E8F7F0000:error:0A00045C:SSL routines\n"), { code });
    expect(connectionErrorText(cause)).toBe(`TLS failed (${code})`);
  });

  it("looks through every wrapping to the innermost cause", () => {
    const all = new AggregateError([Object.assign(new Error(), { code: "ECONNREFUSED" }), new Error()]);
    const wrapped = Object.assign(new Error("proxy", { cause: all }), { code: "UND_ERR_ABORTED" });
    const error = new TransportError("failed", { wasSent: false, cause: wrapped });
    expect(describeConnectionError(error, SERVICE).message).toContain("the connection was refused");
  });

  it("names the proxy where it is the proxy that could not be reached, without its password", () => {
    const cause = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    const proxy = new ProxyError(
      { url: "http://ada:s3cret@proxy.example:3128", variable: "HTTPS_PROXY" },
      cause,
    );
    const error = new TransportError("failed", { wasSent: false, cause: proxy });
    expect(describeConnectionError(error, SERVICE).message).toBe(
      "The proxy at proxy.example:3128 (HTTPS_PROXY) could not be reached: its name could not be found.",
    );
    expect(connectionErrorText(error)).toBe(
      "the proxy at proxy.example:3128 (HTTPS_PROXY) could not be reached: its name could not be found",
    );
  });

  it("says that the time was up", () => {
    const error = new TransportError("no answer within 10 ms", { wasSent: false, timedOut: true });
    expect(describeConnectionError(error, SERVICE).message).toContain("the connection timed out");
  });

  it("passes on what it has no words for", () => {
    expect(describeConnectionError(broken("EODD"), SERVICE).message).toContain("fetch failed");
    expect(describeConnectionError("odd", SERVICE).message).toContain("odd");
  });
});

describe("a failure that another attempt would meet too", () => {
  const failed = (cause: unknown) => new TransportError("failed", { wasSent: false, cause });
  it.each([
    ["a bug", new TypeError("x is not a function")],
    ["WebAssembly that is missing", new ReferenceError("WebAssembly is not defined")],
    [
      "memory that WebAssembly does not get",
      Object.assign(new Error("Out of memory"), { name: "RuntimeError" }),
    ],
    ["a part of the program that is gone", Object.assign(new Error("gone"), { code: "MODULE_NOT_FOUND" })],
  ])("is %s, and is not called the network's", (_what, cause) => {
    expect(isOfThisProcess(failed(cause))).toBe(true);
    expect(describeConnectionError(failed(cause), SERVICE).message).toBe(
      `The fault is in imggen, not in the network: ${failed(cause).message}.`,
    );
  });

  it.each(["ECONNRESET", "UND_ERR_SOCKET", "HPE_INVALID_CONSTANT", "EAI_AGAIN"])("is not %s", (code) => {
    expect(isOfThisProcess(broken(code))).toBe(false);
  });
});
