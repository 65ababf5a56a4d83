// Texts of what needs attention on the home page.

import { count, counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  attention: "Needs attention",
  nothingJudged: "No image with packages is judged yet.",
  criticalCount: (number: number): string => (number === 0 ? "No known critical findings" : counted(number, "critical finding", "critical findings")),
  exploitedCount: (number: number): string => counted(number, "finding is known to be exploited", "findings are known to be exploited"),
  exploitedAtLeast: (number: number): string => `${count.format(number)} or more findings are known to be exploited`,
  failedDeliveries: (number: number): string =>
    number === 0 ? "No failed webhook deliveries" : counted(number, "webhook delivery has failed", "webhook deliveries have failed"),
  latestTags: "Latest pushes",
} as const;
