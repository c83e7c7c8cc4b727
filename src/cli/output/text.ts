/** `2 credits`, `1 credit`, or that nobody says. */
export function creditsText(credits: number | null): string {
  if (credits === null) return "cost unknown";
  return credits === 1 ? "1 credit" : `${credits} credits`;
}
