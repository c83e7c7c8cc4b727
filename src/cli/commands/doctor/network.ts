import { promises } from "node:fs";
import { proxiesFromEnvironment, proxyFor } from "../../../api/proxies.ts";
import { errorText } from "../../../lib/error-text.ts";
import { withoutQuery } from "../../../lib/redact.ts";
import type { Session } from "../../app/session.ts";
import { type CheckResult, type CheckSpec, NotChecked, ok, warning } from "./check.ts";
import { settingOf } from "./settings.ts";

/** The proxy that the service is reached through. */
export async function checkProxy({ session }: CheckSpec): Promise<CheckResult> {
  if (session.options.sandbox) return ok("none for the embedded sandbox", { url: null });
  if (proxiesFromEnvironment(session.context.env) === undefined) return ok("none", { url: null });
  const setting = await settingOf("baseUrl", session);
  if (setting === undefined || !URL.canParse(setting.value))
    throw new NotChecked("there is no base URL to reach through it");
  const url = new URL(setting.value);
  const proxy = proxyInUse(url, session);
  if (proxy === null) return ok(`none for ${url.host}`, { url: null });
  return ok(`${proxy.url} (${proxy.variable})`, { url: proxy.url });
}

/** The proxy that a URL is reached through, without the user name and password in it. */
export function proxyInUse(url: URL, { context }: Session): { url: string; variable: string } | null {
  const proxy = proxyFor(url, proxiesFromEnvironment(context.env));
  const variable = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  return proxy === null ? null : { url: withoutQuery(proxy), variable };
}

/** Which certificates are trusted. */
export async function checkTls({ session }: CheckSpec): Promise<CheckResult> {
  const { NODE_EXTRA_CA_CERTS: extra, NODE_TLS_REJECT_UNAUTHORIZED: rejects } = session.context.env;
  const facts = { extraCertificates: extra || null };
  if (rejects === "0")
    return warning(
      "NODE_TLS_REJECT_UNAUTHORIZED=0 accepts every certificate, so others on the network could read the API key.",
      "Unset it, and name the certificates to trust in NODE_EXTRA_CA_CERTS.",
      facts,
    );
  if (!extra) return ok("Node's own certificates", facts);
  const problem = await promises.readFile(extra).then(
    () => null,
    (error: unknown) => errorText(error),
  );
  if (problem === null) return ok(`Node's own certificates, and those in ${extra}`, facts);
  return warning(
    `The certificates in ${extra} cannot be read: ${problem}.`,
    "Set NODE_EXTRA_CA_CERTS to a file of certificates, or unset it.",
    facts,
  );
}
