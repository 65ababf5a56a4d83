// Scores of the Exploit Prediction Scoring System: an API response, or a row of the daily table (pieces.ts). Facts, not records.

import type { ExploitPredictionRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { Format } from "./format.ts";
import { cveForm } from "./reference.ts";

const shareForm = /^(?:0(?:\.\d{1,20})?|1(?:\.0{1,20})?|\d(?:\.\d{1,20})?e-\d{1,2})$/i;

/** The API writes numbers as texts. */
const shareOf = (field: Field): number => {
  const value = typeof field.value === "number" ? String(field.value) : field.name();
  return shareForm.test(value) && Number(value) <= 1 ? Number(value) : field.refuse("must be a number from 0 to 1");
};

const prediction = (row: Field): ExploitPredictionRecord => {
  const number = row.object().at("cve");
  const id = number.id();
  if (!cveForm.test(id)) return number.refuse("must be a number such as CVE-2024-12345");
  const date = row.at("date").name();
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date) || row.at("date").time() === undefined) return row.at("date").refuse("must be a day such as 2026-01-31");
  if (!row.at("more").missing) return row.refuse("must be of three columns: cve, epss, percentile");
  return { kind: "exploit prediction", id, score: shareOf(row.at("epss")), percentile: shareOf(row.at("percentile")), date };
};

export const epss: Format = {
  name: "epss",
  title: "scores of EPSS",
  kinds: ["vulnerabilities"],
  matches: (document) => ("cve" in document && "date" in document) || (Array.isArray(document.data) && "status-code" in document),
  read: (document) => (document.at("data").missing ? [document] : document.at("data").list()).map(prediction),
};
