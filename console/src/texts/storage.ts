// Texts of used storage.

import { count, counted } from "./numbers.ts";
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
  allQuotas: "All quotas",
  allQuotasText: "Most that the organization can have of each resource, and requests that it can send. Requests are limited on each server.",
  quotaCount: (number: number): string => counted(number, "quota", "quotas"),
  quotaName: "Quota",
  usedNow: "Used",
  limit: "Limit",
  usedShare: "Share",
  perSecond: (number: string): string => `${number} a second`,
  notCounted: "Not counted",
  usedHidden: "Hidden: you may not list them in the whole organization",
  nearQuota: "Nearly full",
  fullQuota: "Full",
  byRepo: "By repo",
  byRepoText: "A repo is measured when you ask, because its manifests are read.",
  saved: "Saved by sharing",
  measureOf: (name: string): string => `Measure ${name}`,
  repo: "Repo",
  noReposHere: "No repos here and below",
  noReposHereText: "A repo appears with its first push.",
} as const;
