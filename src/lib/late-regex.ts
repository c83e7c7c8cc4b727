/** Compiles at the first call, because a Unicode class such as `\p{L}` takes a tenth of a command's start time. */
export function lazyRegex(source: string, flags: string): () => RegExp {
  let regex: RegExp | undefined;
  return () => {
    regex ??= new RegExp(source, flags);
    return regex;
  };
}

const PLAIN = /^[ -~]*$/;

export function isPrintableAscii(text: string): boolean {
  return PLAIN.test(text);
}

const CONTROL = lazyRegex("\\p{Cc}", "u");

export function hasControlCharacter(text: string): boolean {
  return !isPrintableAscii(text) && CONTROL().test(text);
}
