/**
 * Milliseconds of processor time that the work costs this process. Unlike the
 * time on a clock, a busy machine makes it no longer.
 */
export async function cpuTimeOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
