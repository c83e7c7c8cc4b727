/** A text cut to `length` characters, with an ellipsis where something is missing. */
export function shorten(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** `2 credits`, `1 credit`, or that nobody says. */
export function creditsText(credits: number | null): string {
  if (credits === null) return "cost not documented";
  return credits === 1 ? "1 credit" : `${credits} credits`;
}
