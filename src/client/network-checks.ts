import { promises } from "node:fs";
import { parseNoProxy } from "../api/no-proxy.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import { errorText } from "../lib/error-text.ts";
import { type Finding, needed, news, ok, warning } from "./finding.ts";
import { proxyInUse } from "./targets/service-check.ts";
import type { TargetSession } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

/** The proxy that the service is reached through. */
export async function checkProxy(session: TargetSession): Promise<Finding | null> {
  if (session.isSandbox) return ok("none for the embedded sandbox", { url: null });
  const proxies = proxiesFromEnvironment(session.context.env);
  if (proxies === undefined) return ok("none", { url: null });
  const { kind, url } = await needed(async () => {
    const target = await targetInEffect(session);
    return { kind: target.kind, url: target.url() };
  });
  if (url === null) return kind === "generator" ? ok("none for a command", { url: null }) : null;
  const proxy = proxyInUse(url, session);
  const facts = { url: proxy?.url ?? null };
  const text = proxy === null ? `none for ${url.host}` : `${proxy.url} (${proxy.variable})`;
  const { unknown } = parseNoProxy(proxies.except);
  if (unknown.length === 0) return proxy === null ? ok(text, facts) : news(text, facts);
  const variable = proxies.variables?.except ?? "NO_PROXY";
  return warning(`${text}. In ${variable} this is ignored: ${unknown.join(" ")}.`, NO_PROXY_FORMS, facts);
}

const NO_PROXY_FORMS =
  "Write names, addresses and networks, such as .example.com, 10.0.0.1:8080, 10.0.0.0/8, fd00::/8, or * for all.";

const ANY_CERTIFICATE =
  "NODE_TLS_REJECT_UNAUTHORIZED=0 accepts every certificate, so others on the network could read the API key.";

/** Which certificates are trusted. */
export async function checkTls({ context: { env } }: TargetSession): Promise<Finding> {
  const { NODE_EXTRA_CA_CERTS: extra, NODE_TLS_REJECT_UNAUTHORIZED: rejects } = env;
  const facts = { extraCertificates: extra || null };
  const instead = "Unset it, and name the certificates to trust in NODE_EXTRA_CA_CERTS.";
  if (rejects === "0") return warning(ANY_CERTIFICATE, instead, facts);
  if (!extra) return ok("Node's own certificates", facts);
  try {
    await promises.readFile(extra);
    return ok(`Node's own certificates, and those in ${extra}`, facts);
  } catch (error) {
    const unread = `The certificates in ${extra} cannot be read: ${errorText(error)}.`;
    return warning(unread, "Set NODE_EXTRA_CA_CERTS to a file of certificates, or unset it.", facts);
  }
}
