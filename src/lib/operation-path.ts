/** Removes an API path, such as `/images/generations`, from the address of a server. */
export function removeApiPath(address: string): string {
  return address.replace(
    /\/(?:images\/(?:generations|edits)|chat\/completions|responses|sdapi\/v1(?:\/[\w-]+)?)\/*$/i,
    "",
  );
}
