export function nodePackage(major: number): string;
