/**
 * A regular expression compiled at its first use, for Unicode classes such as `\p{L}`: Node compiles a literal when
 * it parses it, which takes a tenth of a command's start.
 */
export function lateRegex(source: string, flags: string): () => RegExp {
  let regex: RegExp | undefined;
  return () => {
    regex ??= new RegExp(source, flags);
    return regex;
  };
}

const PLAIN = /^[ -~]*$/;

/** Whether a text is printable ASCII, tested without a Unicode class. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

const CONTROL = lateRegex("\\p{Cc}", "u");

export function hasControlCharacter(text: string): boolean {
  return !isPlain(text) && CONTROL().test(text);
}
