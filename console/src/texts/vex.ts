// Texts of trusted sources of VEX.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  sources: "Trusted sources of VEX",
  sourcesText:
    "A source is the public key of a supplier. OpenVEX attestations that it has signed suppress findings of their image. A decision of yours always precedes.",
  sourcesHere: "Sources of this group and of the groups above it. They count in all images here and below.",
  sourcesBelow: "Sources of this group and of the groups below it.",
  scopes: "Which sources",
  sourceCount: (number: number): string => counted(number, "source", "sources"),
  noSourcesTitle: "No source is trusted",
  noSourcesText: "Pushed VEX is shown next to findings, and changes none until you trust the key of its supplier.",
  sourceName: "Source",
  fingerprint: "Fingerprint of the key",
  onlyRepo: "Only",
  setAt: "Set at",
  addSource: "Trust a source",
  sourceNameHint: "Lowercase letters, digits, spaces, periods, underscores and hyphens.",
  publicKey: "Public key",
  publicKeyHint: "In PEM, from -----BEGIN PUBLIC KEY----- on. Get it over a channel that you trust.",
  repoOptional: "Only documents of this repo (optional)",
  repoHint: "Type a part of a name, or paste a uid. Without a repo: all repos here and below.",
  repoUnknown: "Choose a repo from the list, or paste its uid.",
  sourceEffect: "Documents that were pushed before are verified in the background.",
  approvalToo: "If decisions need an approval here, you also need gantry.findings.require_approval.",
  sourceAdded: "Source trusted",
  compareKey: "Compare the fingerprint with that of the supplier:",
  deleteSource: "Delete the source",
  deleteSourceOf: (name: string): string => `Delete the source ${name}`,
  deleteSourceText: "Its key counts no more. Findings that only its statements suppress are open again within seconds.",
  sourceDeleted: "Source deleted",
  guide: "Trust VEX of suppliers",
} as const;
