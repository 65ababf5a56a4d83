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
  of: "of",
  roleBinding: "Role binding",
  robot: "Robot account",
  checks: "Feeds and expiring access",
  checksText: "Looks for feeds that fail or are stale, and for role bindings and robot accounts that expire within 14 days.",
  check: "Check now",
  checked: "Feeds and expiring access are checked",
  noFeeds: "No feed that you can see",
  feedsDenied: "You may not list feeds.",
  feedsInTrouble: (number: number): string =>
    number === 0 ? "All feeds were imported" : counted(number, "feed has failed or is held back", "feeds have failed or are held back"),
  stale: (number: number): string => counted(number, "ecosystem has only stale sources", "ecosystems have only stale sources"),
  accessDenied: "You may not list role bindings and robot accounts.",
  expiring: (number: number): string =>
    number === 0 ? "No access expires within 14 days" : `${counted(number, "access expires", "accesses expire")} within 14 days`,
  expiringTitle: "Expiring access",
  feedsLimit: (total: number, checked: number): string => `Only ${count.format(checked)} of ${count.format(total)} feeds were checked.`,
  bindingsLimit: (total: number, checked: number): string => `Only the latest ${count.format(checked)} of ${count.format(total)} role bindings were checked.`,
  identitiesLimit: (total: number, checked: number): string => `Only the latest ${count.format(checked)} of ${count.format(total)} identities were checked.`,
} as const;
