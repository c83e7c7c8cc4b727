/** The body of a POST, and its type. */
export interface PostBody {
  type: string;
  bytes: string | Buffer;
}

export function jsonBody(value: unknown): PostBody {
  return { type: "application/json", bytes: JSON.stringify(value) };
}

export async function formBody(data: FormData): Promise<PostBody> {
  const encoded = new Response(data);
  const type = encoded.headers.get("content-type") ?? "multipart/form-data";
  return { type, bytes: Buffer.from(await encoded.arrayBuffer()) };
}
