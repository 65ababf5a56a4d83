// Texts of used storage.

import { count } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  storageText: "Bytes of the blobs, each content once. Repos that share layers store them once.",
  usedHere: (name: string): string => `Stored in ${name}`,
  ofOrganization: "Quota of the organization",
  quotaText: "Deleted repos count until they are removed for good. The operator sets quotas, and lists them all on the server's machine:",
  nearLimit: "Nearly full: pushes are refused when the quota is reached.",
  full: "Full: pushes are refused.",
  share: (percent: number): string => `${count.format(percent)} %`,
  quotaHidden: "Only callers who may list all repos of the organization see its quota.",
  byRepo: "By repo",
  byRepoText: "A repo is measured when you ask, because its manifests are read.",
  saved: "Saved by sharing",
  measureOf: (name: string): string => `Measure ${name}`,
  repo: "Repo",
  noReposHere: "No repos here and below",
  noReposHereText: "A repo appears with its first push.",
} as const;
