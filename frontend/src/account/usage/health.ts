/** What a service lacks, in sentences for its operator. */
import type { SystemHealth } from "../../protocol/api";

export function missingParts({ checks, workers }: SystemHealth): string[] {
  const found: string[] = [];
  if (!checks.database) found.push("The database does not answer.");
  if (!checks.redis) found.push("Redis does not answer. Messages cannot be queued.");
  else if (!checks.worker && !workers.length)
    found.push("No inference worker is running. Messages wait in the queue.");
  for (const { state, message, progress } of workers) {
    if (state === "failed") found.push(`A worker did not load its model: ${message}`);
    else if (state === "loading" && !checks.worker)
      found.push(`A worker loads its model: ${Math.round(Number(progress) * 100)} %.`);
  }
  return found;
}
