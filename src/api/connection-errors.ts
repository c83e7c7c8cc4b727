import { ProxyError } from "./proxies.ts";
import { TransportError } from "./transport.ts";

const UNTRUSTED_CODES = /NOT_THIS_MACHINE|CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ALTNAME|DEPTH_ZERO/;
const HANDSHAKE_CODES = /ERR_TLS|ERR_SSL|EPROTO/;

const COMPANY_AUTHORITY =
  "If your company has its own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.";
const CLOCK = `Check this machine's clock. If the clock is right, only the service can renew its certificate.\n${COMPANY_AUTHORITY}`;
const OTHER_HOST = `Check that the base URL leads to the service, and not to another server.\n${COMPANY_AUTHORITY}`;
const NOT_TLS = "Check that the base URL and its port lead to the service, and not to another server.";

const PROCESS_HINT =
  "Run the command again without limits on memory or on Node.js (ulimit -v, NODE_OPTIONS).";

/** Reasons and next steps by error code, for connections that were refused as unsafe. */
const UNTRUSTED_REASONS: Record<string, [what: string, hint: string]> = {
  CERT_HAS_EXPIRED: ["its certificate has expired", CLOCK],
  CERT_NOT_YET_VALID: ["its certificate is not valid yet", CLOCK],
  ERR_TLS_CERT_ALTNAME_INVALID: ["its certificate is for another host", OTHER_HOST],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["its certificate is self-signed", COMPANY_AUTHORITY],
  EPROTO: ["the TLS handshake failed", NOT_TLS],
  ERR_NOT_THIS_MACHINE: [
    "its name resolves to another machine",
    "Plain http: is for this machine only. Use https://.",
  ],
  ERR_SSL_WRONG_VERSION_NUMBER: ["it does not use TLS", NOT_TLS],
};

const REASONS: Record<string, string> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  UND_ERR_SOCKET: "the connection was cut",
  EPIPE: "the connection was cut",
  ENOTFOUND: "its name could not be found",
  EAI_AGAIN: "its name could not be looked up",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the network is unreachable",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
};

/** Describes a connection error and the next step. @param hint next step for an error without a specific hint */
export function describeConnectionError(
  error: unknown,
  service: URL,
  hint = "Nothing was sent or charged. Check the network, the base URL and any proxy, then try again.",
): { message: string; hint: string } {
  const code = deepestCode(error);
  if (UNTRUSTED_CODES.test(code) || HANDSHAKE_CODES.test(code)) {
    const [what, hint] = UNTRUSTED_REASONS[code] ?? ["its certificate was not accepted", COMPANY_AUTHORITY];
    return {
      message: `No trusted connection to ${proxyIn(error) ?? service.host}: ${what} (${code}).`,
      hint,
    };
  }
  if (isOfThisProcess(error))
    return {
      message: `The fault is in imggen, not in the network: ${errorReason(error)}.`,
      hint: PROCESS_HINT,
    };
  const proxy = proxyIn(error);
  const what = proxy === null ? `The service at ${service.host}` : `The proxy at ${proxy}`;
  return { message: `${what} could not be reached: ${errorReason(error)}.`, hint };
}

/** Whether this process caused the error (missing module, little memory), so that a retry would fail too. */
export function isOfThisProcess(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = innerError(each)) {
    if ([TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => each instanceof kind))
      return true;
    if (/^(?:Compile|Link|Runtime)Error$/.test(each.name) || /MODULE_NOT_FOUND$/.test(ownCode(each)))
      return true;
  }
  return false;
}

/** Whether a certificate was rejected, or plain http: was refused because the host is another machine. */
export function isUntrusted(error: unknown): boolean {
  return UNTRUSTED_CODES.test(deepestCode(error));
}

/** Describes the error of an exchange as a phrase. */
export function connectionErrorText(error: unknown): string {
  const proxy = proxyIn(error);
  return proxy === null
    ? errorReason(error)
    : `the proxy at ${proxy} could not be reached: ${errorReason(error)}`;
}

/** The proxy that could not be reached, or null if the error is about the target. */
function proxyIn(error: unknown): string | null {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof ProxyError) return `${each.host} (${each.variable})`;
  return null;
}

function errorReason(error: unknown): string {
  const code = deepestCode(error);
  // OpenSSL's messages are omitted, because they are mostly numbers.
  if (HANDSHAKE_CODES.test(code)) return `TLS failed (${code})`;
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}

/** Code of the innermost cause with a code, because the codes of outer errors are less specific. */
function deepestCode(error: unknown): string {
  let code = error instanceof TransportError && error.timedOut && !error.wasSent ? "ETIMEDOUT" : "";
  for (let each = error; each instanceof Error; each = innerError(each)) code = ownCode(each) || code;
  return code;
}

function ownCode(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Returns the cause, or the first error of an AggregateError (all addresses of a name failed). */
function innerError(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}
