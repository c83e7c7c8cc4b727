import type { Reporter, TestModule } from "vitest/node";

/** Names each test that passed only when it was tried again, so that nobody overlooks what is not reliable. */
export class NameRetried implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests("passed")) {
        if (test.diagnostic()?.flaky !== true) continue;
        process.stdout.write(`Passed when tried again: ${module.relativeModuleId}: ${test.fullName}\n`);
      }
    }
  }
}
