import { promises as dns, lookup } from "node:dns";
import { promises } from "node:fs";
import type { LookupFunction } from "node:net";
import { parseNoProxy } from "../../../api/no-proxy.ts";
import { type ProxyInUse, proxiesFromEnvironment, proxyFor } from "../../../api/proxies.ts";
import { errorCode, errorText } from "../../../lib/error-text.ts";
import { withoutQuery } from "../../../lib/redact.ts";
import type { Session } from "../../session/session.ts";
import { type Finding, needed, news, ok, warning } from "./check.ts";

/** The proxy that the service is reached through. */
export async function checkProxy(session: Session): Promise<Finding | null> {
  if (session.isSandbox) return ok("none for the embedded sandbox", { url: null });
  const proxies = proxiesFromEnvironment(session.context.env);
  if (proxies === undefined) return ok("none", { url: null });
  const baseUrl = await needed(() => session.settings.get("baseUrl"));
  const generator = await needed(() => session.ownGenerator());
  if (generator?.spec.kind === "command") return ok("none for a command", { url: null });
  const address = generator?.spec.url ?? baseUrl?.value;
  if (address === undefined || !URL.canParse(address)) return null;
  const proxy = proxyInUse(new URL(address), session);
  const facts = { url: proxy?.url ?? null };
  const text = proxy === null ? `none for ${new URL(address).host}` : `${proxy.url} (${proxy.variable})`;
  const { unknown } = parseNoProxy(proxies.except);
  if (unknown.length === 0) return proxy === null ? ok(text, facts) : news(text, facts);
  const variable = proxies.variables?.except ?? "NO_PROXY";
  return warning(`${text}. In ${variable} this is ignored: ${unknown.join(" ")}.`, NO_PROXY_FORMS, facts);
}

const NO_PROXY_FORMS =
  "Write names, addresses and networks, such as .example.com, 10.0.0.1:8080, 10.0.0.0/8, fd00::/8, or * for all.";

/** The proxy that a URL is reached through, without the user name and password in it. */
export function proxyInUse(url: URL, { context }: Session): ProxyInUse | null {
  const proxy = proxyFor(url, proxiesFromEnvironment(context.env));
  return proxy && { ...proxy, url: withoutQuery(proxy.url) };
}

const ANY_CERTIFICATE =
  "NODE_TLS_REJECT_UNAUTHORIZED=0 accepts every certificate, so others on the network could read the API key.";

/** Which certificates are trusted. */
export async function checkTls({ context: { env } }: Session): Promise<Finding> {
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

/** Shorter than the service's check, to distinguish a name server that does not answer from a service that does not. */
const NAME_SERVER_MS = 3_000;

/**
 * The system's name resolution, once a name server has answered. It cannot be given up: where none answers it would
 * keep the process alive long after the result is shown.
 */
export const lookupIfAnswered: LookupFunction = async (hostname, options, callback) => {
  if (await canBeAsked(hostname)) lookup(hostname, options, callback);
  else callback(Object.assign(new Error("no name server answers"), { code: "EAI_AGAIN" }), "");
};

/** Whether the system's resolution of a name will end soon: it is in the hosts file, or a name server answers anything. */
async function canBeAsked(hostname: string): Promise<boolean> {
  const hosts = await promises.readFile("/etc/hosts", "utf8").catch(() => "");
  if (hosts.split(/\s+/).includes(hostname)) return true;
  const resolver = new dns.Resolver({ timeout: NAME_SERVER_MS, tries: 1 });
  const isAnswer = (error: unknown) => errorCode(error) !== "ETIMEOUT";
  return resolver.resolve4(hostname).then(() => true, isAnswer);
}
