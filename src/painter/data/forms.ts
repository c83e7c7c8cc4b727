/** Palettes of compositions for prompts that name no colours. */
export const PALETTES = [
  "264653 2a9d8f e9c46a f4a261 e76f51",
  "1d3557 457b9d a8dadc e63946 f1c453",
  "5f0f40 9a031e fb8b24 e36414 0f4c5c",
  "3d405b 81b29a f2cc8f e07a5f 6d597a",
  "22577a 38a3a5 57cc99 c7f9cc f6bd60",
  "355070 6d597a b56576 e56b6f eaac8b",
  "283618 606c38 dda15e bc6c25 8ab17d",
  "2b2d42 8d99ae ef233c f2b134 4f6d7a",
] as const;

/** Shapes in the notation of canvas/notation.ts, in a square from -50 to 50 around their middle. */
export const TILES = [
  "M-50 -50 L50 -50 Q50 50 -50 50",
  "M-50 -50 L50 -50 Q50 50 -50 50|M-50 -50 L16 -50 Q16 16 -50 16|M-50 -50 L-17 -50 Q-17 -17 -50 -17",
  "O0 0 38 38|O0 0 16 16",
  "M-50 -50 L50 -50 -50 50",
  "R-50 -40 100 15 R-50 -10 100 15 R-50 20 100 15",
  "O0 50 50 50|O0 50 24 24",
  "M0 -50 Q50 0 0 50 Q-50 0 0 -50",
  "M-50 -50 L0 0 50 -50 M-50 50 L0 0 50 50",
  "O-25 -25 18 18 O25 -25 18 18 O-25 25 18 18 O25 25 18 18",
  "R-50 -50 50 50 R0 0 50 50",
] as const;

/** Petals in the same notation, from the middle towards the right, 100 long. */
export const PETALS = [
  "O70 0 30 11",
  "M30 0 Q70 -26 100 0 Q70 26 30 0",
  "M40 -9 L100 0 40 9",
  "O86 0 12 12",
  "M34 0 L70 -15 100 0 70 15",
  "M50 -5 L92 -13 Q100 0 92 13 L50 5",
  "M30 0 C60 -30 92 -26 96 0 C92 26 60 30 30 0",
] as const;

export const LARGE = [
  "O0 0 50 50",
  "M-50 40 Q-50 -50 0 -50 Q50 -50 50 40",
  "M-50 25 C-50 -40 50 -40 50 25",
  "M0 -56 L54 44 -54 44",
  "R-46 -46 92 92",
  "M-12 -60 C40 -50 50 30 0 60 C-40 40 -60 -20 -12 -60",
  "R-50 -45 100 16 R-50 -13 100 16 R-50 19 100 16",
  "M0 -60 L16 -16 60 0 16 16 0 60 -16 16 -60 0 -16 -16",
  "M-50 50 L-50 0 -17 0 -17 -25 17 -25 17 -50 50 -50 50 50",
  "M-50 -10 Q-25 -60 0 -10 Q25 40 50 -10 L50 20 Q25 70 0 20 Q-25 -30 -50 20",
  "R-5 -60 10 120",
  "M-40 -40 C0 -70 70 -40 50 10 C30 60 -20 30 -35 45 C-70 40 -60 -20 -40 -40",
] as const;
