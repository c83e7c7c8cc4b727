import { guardedLookup, isLoopbackHost } from "../../api/address.ts";
import { HttpClient, withMaskedUrls } from "../../api/http-client.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import { keyMasker } from "../../lib/redact.ts";
import { HttpImageService } from "../../providers/service/http-service.ts";
import { type ServiceIdentity, serviceTerms } from "../../task/intent.ts";
import type { OpenOptions, OpenTarget, TargetSession } from "./target.ts";

const SANDBOX_TOP_UP = "Nothing was charged. To give the sandbox more credits: imggen sandbox --credits 1000";

/** Whether the service is a sandbox on this machine, embedded or not. The key's prefix identifies sandboxes. */
function isSandbox({ hostname }: URL, apiKey: string): boolean {
  return isLoopbackHost(hostname) && apiKey.startsWith("sk-sandbox");
}

interface Account {
  identity: ServiceIdentity;
  baseUrl: string;
  apiKey: string;
}

/** Connects without sending anything. */
export function connectService(
  { baseUrl, apiKey, identity }: Account,
  { requestTimeoutMs, usesProxy }: OpenOptions & { usesProxy: boolean },
  session: TargetSession,
): OpenTarget {
  const { clock, env } = session.context;
  const proxies = usesProxy ? proxiesFromEnvironment(env) : undefined;
  const serviceUrl = new URL(baseUrl);
  const maskKey = keyMasker(apiKey);
  const onExchange = withMaskedUrls(session.onExchange, maskKey);
  const http = new HttpClient({ proxies, onExchange });
  const downloads = new HttpClient({ proxies, onExchange, lookup: guardedLookup(serviceUrl.hostname) });
  const connection = {
    identity,
    provider: new HttpImageService({ http, clock, baseUrl, apiKey, requestTimeoutMs }),
    downloads,
    serviceUrl,
    topUpHint: isSandbox(serviceUrl, apiKey) ? SANDBOX_TOP_UP : null,
    maskKey,
    maskUrl: maskKey,
    termsFor: serviceTerms,
  };
  return { connection, close: async () => void (await Promise.all([http.close(), downloads.close()])) };
}
