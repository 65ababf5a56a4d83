// Facts stored with a third-party CSAF document: its entry in the issuer's lists, or why lists omit it. Pure.

import { type JsonObject, part, text } from "#base/json.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import type { CsafFacts } from "#advisories/store";
import { isOpenLabel, labelReason } from "./labels.ts";
import { distinctNumberOf, fileNameOfTracking } from "./names.ts";

/** Returns the issuer's directory: its namespace without scheme, as a CSAF file name. */
const folderOf = (namespace: string): string => fileNameOfTracking(distinctNumberOf(namespace.replace(/^https?:\/\//i, "").replace(/\/$/, "")));

const labels = new Set(["WHITE", "GREEN", "AMBER", "RED"]);

const publisherCategories = new Set(["coordinator", "discoverer", "other", "user", "vendor"]);

const leftOutOf = (document: JsonObject, label: string, initial: number | undefined, current: number | undefined): string => {
  const publisher = part(document, "publisher");
  const version = text(document, "csaf_version");
  if (version !== "2.0") return `it is a document of CSAF ${version || "without a version"}, and the lists are of CSAF 2.0`;
  if (!/^https?:\/\/[^/]/i.test(text(publisher, "namespace"))) return "its publisher has no namespace that is an address";
  if (text(publisher, "name") === "" || !publisherCategories.has(text(publisher, "category"))) return "its publisher is none that issues documents";
  if (text(document, "title") === "" || fileNameOfTracking(text(part(document, "tracking"), "id")) === "") return "it has no title or no tracking id";
  if (initial === undefined || current === undefined) return "it has no release time";
  return isOpenLabel(label) ? "" : labelReason(label);
};

export const csafFactsOf = (form: string, content: JsonObject): CsafFacts | undefined => {
  if (form !== "csaf") return undefined;
  const document = part(content, "document");
  const publisher = part(document, "publisher");
  const tracking = part(document, "tracking");
  const named = text(part(part(document, "distribution"), "tlp"), "label");
  const label = named === "" ? "UNLABELED" : labels.has(named) ? named : "RED";
  const initial = readTimestamp(text(tracking, "initial_release_date"));
  const current = readTimestamp(text(tracking, "current_release_date"));
  const namespace = text(publisher, "namespace");
  return {
    issuer: namespace,
    folder: folderOf(namespace),
    publisher: JSON.stringify({ category: text(publisher, "category"), name: text(publisher, "name"), namespace }),
    fileName: fileNameOfTracking(text(tracking, "id")),
    title: text(document, "title"),
    label,
    initialReleaseTime: initial === undefined ? "" : timestamp(initial),
    currentReleaseTime: current === undefined ? "" : timestamp(current),
    leftOut: leftOutOf(document, label, initial, current),
  };
};
