/** How a key goes into the headers of a request. */
export type KeyHeaders = (key: string) => Readonly<Record<string, string>>;

export const bearer: KeyHeaders = (key) => ({ authorization: `Bearer ${key}` });

/** `user:password` is what these servers know; any other key is for a proxy before one. */
export const basicOrBearer: KeyHeaders = (key) =>
  key.includes(":") ? { authorization: `Basic ${Buffer.from(key).toString("base64")}` } : bearer(key);
