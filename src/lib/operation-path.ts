/** An address without the operation that was pasted along with it: `/images/generations` of an OpenAI-compatible server. */
export function withoutOperation(address: string): string {
  return address.replace(
    /\/(?:images\/(?:generations|edits)|chat\/completions|responses|sdapi\/v1(?:\/[\w-]+)?)\/*$/i,
    "",
  );
}
