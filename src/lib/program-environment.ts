/** The environment of a program of the user's, without the variables that it must not see: names of any letter case, as on Windows. */
export function environmentWithout(
  hidden: RegExp,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !hidden.test(name.toUpperCase())));
}
