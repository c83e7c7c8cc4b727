// Loaded into the built program with --import: one disk operation takes its time, so that a test can do
// something meanwhile. IMGGEN_TEST_SLOW_DISK holds JSON: {operation, match, when, holdMs, mark}. `match` is a part
// of the path; the wait is before or after the operation takes place; the file `mark` appears when it begins.
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const { operation, match, when, holdMs, mark } = JSON.parse(process.env.IMGGEN_TEST_SLOW_DISK ?? "{}");
const { writeFile } = fsp;
const original = fsp[operation];

async function hold() {
  await writeFile(mark, "");
  await new Promise((resolve) => setTimeout(resolve, holdMs));
}

fsp[operation] = async (from, to, ...rest) => {
  const isMeant = String(to).includes(match);
  if (isMeant && when === "before") await hold();
  const result = await original(from, to, ...rest);
  if (isMeant && when === "after") await hold();
  return result;
};
syncBuiltinESMExports();
