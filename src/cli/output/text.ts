/** `2 credits`, `1 credit`, or that the cost is unknown. */
export function creditsText(credits: number | null): string {
  if (credits === null) return "cost unknown";
  return credits === 1 ? "1 credit" : `${credits} credits`;
}

/** What begins the line of an image: small where something stands before it. */
export function savedWord(which: string): string {
  return which === "" ? "Saved" : "saved";
}
