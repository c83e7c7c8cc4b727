/** Removes a pasted operation from the address of a server: `/images/generations` and the like. */
export function withoutOperation(address: string): string {
  return address.replace(
    /\/(?:images\/(?:generations|edits)|chat\/completions|responses|sdapi\/v1(?:\/[\w-]+)?)\/*$/i,
    "",
  );
}
