// CISA's catalog of known exploited vulnerabilities. Facts, not records.

import { isObject } from "#base/json.ts";
import type { KnownExploitRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { Format } from "./format.ts";
import { cveForm } from "./reference.ts";

const dayForm = /^\d{4}-\d{2}-\d{2}$/;

const dayOf = (field: Field): string => {
  const day = field.name();
  if (day !== "" && (!dayForm.test(day) || field.time() === undefined)) return field.refuse("must be a day such as 2026-01-31");
  return day;
};

const knownExploit = (entry: Field): KnownExploitRecord => {
  const number = entry.object().at("cveID");
  const id = number.id();
  if (!cveForm.test(id)) return number.refuse("must be a number such as CVE-2024-12345");
  const dateAdded = dayOf(entry.at("dateAdded"));
  if (dateAdded === "") return entry.at("dateAdded").refuse("must be a day such as 2026-01-31");
  const campaign = entry.at("knownRansomwareCampaignUse").name();
  return {
    kind: "known exploit",
    id,
    dateAdded,
    dueDate: dayOf(entry.at("dueDate")),
    ransomware: campaign === "Known",
    requiredAction: entry.at("requiredAction").prose().trim(),
  };
};

export const kev: Format = {
  name: "kev",
  title: "CISA's catalogue of known exploited vulnerabilities",
  kinds: ["vulnerabilities"],
  matches: (document) =>
    "catalogVersion" in document && Array.isArray(document.vulnerabilities) && document.vulnerabilities.every((entry) => isObject(entry) && "cveID" in entry),
  read: (document) => {
    const entries = document.at("vulnerabilities").list();
    const count = document.at("count").count();
    // A truncated catalog would remove facts.
    if (count !== undefined && count !== entries.length) return document.at("count").refuse(`is not ${entries.length}, the number of entries`);
    return entries.map(knownExploit);
  },
};
