// Preloaded into the measured program: writes down, as it ends, the most memory it ever had resident, in KiB.
const { readFileSync, writeFileSync } = require("node:fs");

process.on("exit", () => writeFileSync(process.env.IMGGEN_BENCH_PEAK, String(peakKiB())));

/** Linux counts this program's own pages; its resource usage would begin with those of the one that forked it. */
function peakKiB() {
  try {
    return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}
