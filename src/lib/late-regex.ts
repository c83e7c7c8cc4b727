/**
 * A regular expression that is made at its first use, for classes of Unicode characters such as `\p{L}`: Node builds
 * their sets as soon as it parses a literal, used or not, which takes a tenth of the start of a command.
 */
export function lateRegex(source: string, flags: string): () => RegExp {
  let made: RegExp | undefined;
  return () => {
    made ??= new RegExp(source, flags);
    return made;
  };
}

const PLAIN = /^[ -~]*$/;

/** Whether a text has printable ASCII alone, which is known without a class of Unicode characters. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

const CONTROL = lateRegex("\\p{Cc}", "u");

export function hasControlCharacter(text: string): boolean {
  return !isPlain(text) && CONTROL().test(text);
}
