import { TransportError } from "./exchange.ts";

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ALTNAME|DEPTH_ZERO/;
/** Other errors of a TLS handshake. */
const HANDSHAKE = /ERR_TLS|ERR_SSL|EPROTO/;

const PLAIN: Record<string, string> = {
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

/** Describes a connection error, with the next step; `hint` is the step for errors without one of their own. */
export function describeConnectionError(
  error: unknown,
  service: URL,
  hint = "Nothing was sent or charged. Check the network, the base URL and any proxy, then try again.",
): { message: string; hint: string } {
  const code = deepestCode(error);
  if (CERTIFICATE.test(code) || HANDSHAKE.test(code)) {
    return {
      message: `No trusted connection to ${service.host}: its certificate was not accepted (${code}).`,
      hint: "Where a company's own certificate authority signs it, name its file in NODE_EXTRA_CA_CERTS.",
    };
  }
  return {
    message: `The service at ${service.host} could not be reached: ${connectionErrorText(error)}.`,
    hint,
  };
}

/** Whether a certificate was rejected: retrying would not help. */
export function isCertificateError(error: unknown): boolean {
  return CERTIFICATE.test(deepestCode(error));
}

/** The error of an exchange in a few words. */
export function connectionErrorText(error: unknown): string {
  return PLAIN[deepestCode(error)] ?? (error instanceof Error ? error.message : String(error));
}

/** The code of the innermost cause that has one: outer errors wrap it in codes of their own. */
function deepestCode(error: unknown): string {
  let code = error instanceof TransportError && error.timedOut && !error.sent ? "ETIMEDOUT" : "";
  for (let each = error; each instanceof Error; each = innerError(each)) {
    if ("code" in each && typeof each.code === "string") code = each.code;
  }
  return code;
}

/** An AggregateError (all addresses of a name failed) stands for its first. */
function innerError(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}
